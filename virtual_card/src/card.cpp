// SPDX-License-Identifier: MIT
#include "card.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace hpo::virtual_card {

namespace {

[[noreturn]] void refuse(std::string_view what, std::string_view wanted) {
    std::fprintf(stderr, "hpo virtual card: error: HPO_VIRTUAL_CARD: %.*s; expected %.*s\n", static_cast<int>(what.size()), what.data(),
                 static_cast<int>(wanted.size()), wanted.data());
    ::_exit(2);
}

std::int64_t number(std::string_view key, std::string_view text, std::int64_t least, std::int64_t most) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
        refuse(std::string{key} + " is '" + std::string{text} + "'",
               "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    return value;
}

Wanted read() {
    Wanted wanted;
    const char* const text = std::getenv("HPO_VIRTUAL_CARD");
    if (text == nullptr || *text == '\0') return wanted;
    wanted.card.count = 1;
    std::string_view rest{text};
    while (!rest.empty()) {
        const std::string_view item = rest.substr(0, rest.find(';'));
        rest.remove_prefix(std::min(item.size() + 1, rest.size()));
        if (item.empty()) continue;
        const auto equals = item.find('=');
        if (equals == std::string_view::npos) refuse("'" + std::string{item} + "'", "KEY=VALUE;...");
        const std::string_view key = item.substr(0, equals);
        const std::string_view value = item.substr(equals + 1);
        constexpr std::int64_t most_bytes = std::int64_t{1} << 44;
        if (key == "name") wanted.card.name = value;
        else if (key == "state") wanted.state = value;
        else if (key == "report") wanted.report = value;
        else if (key == "quiet") wanted.quiet = number(key, value, 0, 1) == 1;
        else if (key == "capability") wanted.card.capability = static_cast<int>(number(key, value, 50, 129));
        else if (key == "multiprocessors") wanted.card.multiprocessors = static_cast<int>(number(key, value, 1, 1000));
        else if (key == "memory") wanted.card.memory_bytes = number(key, value, 1, most_bytes);
        else if (key == "context") wanted.card.context_bytes = number(key, value, 0, most_bytes);
        else if (key == "count") wanted.card.count = static_cast<int>(number(key, value, 0, 16));
        else
            refuse("unknown key '" + std::string{key} + "'",
                   "name, capability, multiprocessors, memory, context, count, state, report or quiet");
    }
    if (wanted.card.memory_bytes == 0) refuse("no memory", "memory=BYTES");
    if (wanted.card.context_bytes >= wanted.card.memory_bytes) refuse("a context that is larger than the memory", "context below memory");
    return wanted;
}

}  // namespace

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
int Card::shared_per_multiprocessor() const {
    if (capability >= 90 && capability < 120) return 233472;
    if (capability == 80 || capability == 87) return 167936;
    if (capability == 75) return 65536;
    if (capability < 80) return 98304;
    return 102400;
}
int Card::threads_per_multiprocessor() const {
    if (capability == 75) return 1024;
    if (capability == 86 || capability == 87 || capability == 89 || capability >= 120) return 1536;
    return 2048;
}
int Card::blocks_per_multiprocessor() const {
    if (capability == 75 || capability == 86 || capability == 87) return 16;
    if (capability == 89 || capability >= 120) return 24;
    return 32;
}

std::vector<int> visible_cards(int count) {
    std::vector<int> cards;
    const char* const text = std::getenv("CUDA_VISIBLE_DEVICES");
    if (text == nullptr) {
        for (int card = 0; card < count; ++card) cards.push_back(card);
        return cards;
    }
    std::string_view rest{text};
    while (!rest.empty()) {
        const std::string_view item = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(item.size() + 1, rest.size()));
        int card = -1;
        const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), card);
        if (error != std::errc{} || end != item.data() + item.size() || card < 0 || card >= count) break;
        if (std::ranges::find(cards, card) != cards.end()) return {};  // CUDA takes a list that names one twice for an empty one
        cards.push_back(card);
    }
    return cards;
}

const Wanted& wanted() {
    static const Wanted result = read();
    return result;
}

}  // namespace hpo::virtual_card
