// SPDX-License-Identifier: MIT
#include "tune/program/asked_card.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "tune/program/known_cards.hpp"
#include "tune/program/program_run.hpp"

namespace hpo::tune {

namespace {

const KnownCard* known(const std::string& name) {
    const auto found = std::ranges::find(known_cards, name, &KnownCard::name);
    return found == known_cards.end() ? nullptr : &*found;
}

bool begins_as_size(const std::string& text) { return !text.empty() && text[0] >= '0' && text[0] <= '9'; }

}  // namespace

std::string AskedCard::text(const std::vector<std::string>& files) const {
    std::string all = "name=" + name + ";capability=" + std::to_string(capability) + ";multiprocessors=" + std::to_string(multiprocessors) +
                      ";memory=" + std::to_string(bytes) + ";context=" + std::to_string(context_bytes) + ";count=" + std::to_string(count);
    for (const std::string& each : files) {
        if (each.find(';') != std::string::npos) throw Error{Errc::usage, "TMPDIR: " + each + ": expected a path without ';'"};
        all += ";" + each;
    }
    return all;
}

AskedCard asked_card(const CardWords& words) {
    const KnownCard* const named = known(words.card.empty() ? std::string{usual_card} : words.card);
    if (named == nullptr && !begins_as_size(words.card)) {
        std::vector<std::string> names;
        for (const KnownCard& each : known_cards) names.emplace_back(each.name);
        throw unknown_name(words.place, "card", words.card, names);
    }
    const KnownCard* const like = named != nullptr ? named : known(std::string{usual_card});
    AskedCard card{.name = named != nullptr ? std::string{named->name} : "card of " + words.card,
                   .capability = like->capability,
                   .multiprocessors = like->multiprocessors,
                   .bytes = named != nullptr ? card_bytes(*named) : require_bytes(words.place, words.card)};
    constexpr std::int64_t most_bytes = std::int64_t{1} << 44;
    if (card.bytes > most_bytes) throw bad_value(words.place, words.card, "at most " + format_bytes(most_bytes));
    if (!words.context.empty()) {
        card.context_bytes = require_bytes("--context", words.context);
        card.context_from = "which --context gives";
    } else if (named != nullptr && named->context_mebibytes != 0) {
        card.context_bytes = std::int64_t{named->context_mebibytes} << 20;
        card.context_from = "as others saw it on this card";
    } else {
        card.context_bytes = guessed_context_bytes;
        card.context_from = "a guess; --context gives another";
    }
    if (card.context_bytes >= card.bytes)
        throw bad_value(words.place, format_bytes(card.bytes), "more than the CUDA context takes, " + format_bytes(card.context_bytes));
    return card;
}

bool is_on_virtual_card() { return ::dlsym(RTLD_DEFAULT, "hpo_virtual_card_use") != nullptr; }

void begin_on_card(const AskedCard& card, const std::vector<std::string>& words) {
    const std::filesystem::path folder = virtual_card_folder();
    // What the processes on the card share. It is gone with this process, which keeps its number.
    const int state = ::memfd_create("hpo virtual card", 0);
    if (state < 0) throw Error{Errc::store, std::string{"memory to share between processes: "} + std::strerror(errno)};
    const std::string path = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(state);
    ::setenv("HPO_VIRTUAL_CARD", card.text({"state=" + path}).c_str(), 1);
    const char* const given = std::getenv("HPO_CUDA_MAJOR");
    const std::string major = given != nullptr ? given : "13";
    if (major != "12" && major != "13") throw bad_value("HPO_CUDA_MAJOR", "'" + major + "'", "12 or 13");
    const char* const others = std::getenv("LD_PRELOAD");
    const std::string driver = (folder / ("libhpo_virtual_card_cuda" + major + ".so")).string();
    const std::string preloaded = driver + ":" + (folder / "libhpo_virtual_card_nvml.so").string();
    ::setenv("LD_PRELOAD", others == nullptr ? preloaded.c_str() : (preloaded + ":" + others).c_str(), 1);
    std::vector<char*> arguments{::program_invocation_name};
    for (const std::string& each : words) arguments.push_back(const_cast<char*>(each.c_str()));
    arguments.push_back(nullptr);
    ::execv("/proc/self/exe", arguments.data());
    throw Error{Errc::no_device, std::string{"this program cannot be started on a virtual card: "} + std::strerror(errno)};
}

}  // namespace hpo::tune
