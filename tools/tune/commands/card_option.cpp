// SPDX-License-Identifier: MIT
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "tune/card/asked_card.hpp"
#include "tune/card/virtual_card.hpp"
#include "tune/commands/commands.hpp"
#include "tune/study_run/rehearsal.hpp"

namespace hpo::tune {
namespace {

using Words = std::vector<std::string>;

/// Behind "--" are the words of a program.
Words::const_iterator end_of_own(const Words& words) { return std::ranges::find(words, "--"); }
Words::const_iterator find_option(const Words& words, const std::string& option) {
    return std::find_if(words.begin(), end_of_own(words),
                        [&](const std::string& word) { return word == option || word.starts_with(option + "="); });
}
bool given(const Words& words, const std::string& option) { return find_option(words, option) != end_of_own(words); }

/// The value of an option, in "--option VALUE" or "--option=VALUE"; nullopt if it is not there. Throws Error if no value follows.
std::optional<std::string> value_of(const Words& words, const std::string& option) {
    const auto found = find_option(words, option);
    if (found == end_of_own(words)) return std::nullopt;
    if (*found != option) return found->substr(option.size() + 1);
    if (found + 1 == end_of_own(words)) throw Error{Errc::usage, option + ": expected a value behind it"};
    return *(found + 1);
}

/// The same, and takes it out of the words. Throws Error if it is there twice, too.
std::optional<std::string> take_option(Words& words, const std::string& option) {
    auto value = value_of(words, option);
    if (!value) return value;
    const auto found = find_option(words, option);
    words.erase(found, found + (*found == option ? 2 : 1));
    if (given(words, option)) throw Error{Errc::usage, option + ": given twice; expected once"};
    return value;
}

int read_count(const std::string& text) {
    constexpr int most = 16;
    int count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc{} || end != text.data() + text.size() || count < 1 || count > most)
        throw bad_value("--cards", "'" + text + "'", "a number from 1 to " + std::to_string(most));
    return count;
}

}  // namespace

void show_card_option(CLI::App* command) {
    const auto ignore = [](const std::string&) {};
    command
        ->add_option_function<std::string>("--card", ignore, "a card that is not there, by its name or its size; needs trainers for CUDA")
        ->type_name("NAME|SIZE");
    command->add_option_function<std::string>("--cards", ignore, "with --card: so many of them (default: 1)")->type_name("N");
    command
        ->add_option_function<std::string>("--context", ignore,
                                           "with --card: what the CUDA context takes of it (default: what others saw on it, or 600MiB)")
        ->type_name("SIZE");
}

void require_dashes(const Words& words) {
    if (words.empty() || words[0] != "estimate") return;
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string& word = words[i];
        const std::string name = word.substr(word.rfind('/') + 1);
        const bool is_of_option = word.starts_with('-') || words[i - 1].starts_with("--");
        if (!is_of_option && (name.ends_with(".py") || name == "python" || name == "python3"))
            throw Error{Errc::usage,
                        "command line: " + word + ": a program goes behind --, for example hpo-tune estimate --card T4 -- python train.py"};
    }
}

void begin_on_asked_card(Words words) {
    constexpr std::array<std::string_view, 5> able{"check", "doctor", "estimate", "trace", "run"};
    if (words.empty() || std::ranges::find(able, words[0]) == able.end()) return;
    const auto name = take_option(words, "--card");
    for (const char* of_card : {"--cards", "--context"}) {
        if (!name && given(words, of_card))
            throw Error{Errc::usage,
                        std::string{of_card} + ": has no effect without a card that is not there; name one with --card, or leave it out"};
    }
    if (!name) return;
    if (name->empty()) throw Error{Errc::usage, "--card: expected a card, such as RTX-4090, or a size, such as 24GiB"};
    AskedCard card = asked_card({.card = *name, .context = take_option(words, "--context").value_or("")});
    if (const auto count = take_option(words, "--cards")) card.count = read_count(*count);
    const auto device = value_of(words, "--device");
    const auto memory = value_of(words, "--device-memory");
    if (device == "cpu") throw Error{Errc::usage, "--card is a card for CUDA; leave out --device cpu, or --card"};
    if (memory && require_bytes("--device-memory", *memory) > card.bytes)
        throw bad_value("--device-memory", *memory, "at most the card's " + format_bytes(card.bytes));
    if (words[0] == "run" && !given(words, "--rehearse")) refuse_training_on_virtual_card("--card " + *name + ": ");
    if (words[0] != "doctor") {
        if (!device) words.insert(end_of_own(words), {"--device", "cuda"});
        // The whole card, whatever the script gives its trials of another device. A trace has no limit.
        if (words[0] != "trace" && !memory) words.insert(end_of_own(words), {"--device-memory", std::to_string(card.bytes)});
    }
    begin_on_card(card, words);
}

}  // namespace hpo::tune
