// SPDX-License-Identifier: MIT
#include "analysis/failure_cases/predicted_oom.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/analysis/failure_cases/told_failure.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/failure/framework_message.hpp"
#include "hpo/failure/message_family.hpp"

namespace hpo::analysis::detail {

[[nodiscard]] bool is_word_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

/// "not enough memory", "not enough free GPU memory".
[[nodiscard]] std::optional<WordsPlace> not_enough_memory(std::string_view lower) {
    constexpr std::string_view words = "not enough ";
    const auto at = lower.find(words);
    if (at == std::string_view::npos) return std::nullopt;
    std::size_t end = at + words.size();
    for (int skipped = 0; skipped < 3; ++skipped) {
        constexpr std::string_view memory = "memory";
        if (lower.substr(end).starts_with(memory)) return WordsPlace{.begin = at, .end = end + memory.size()};
        const auto space = lower.find(' ', end);
        if (space == std::string_view::npos) return std::nullopt;
        const std::string_view word = lower.substr(end, space - end);
        if (!one_of(word, {"free", "available", "gpu", "cuda", "device", "video", "graphics", "host", "system"})) return std::nullopt;
        end = space + 1;
    }
    return std::nullopt;
}

std::optional<WordsPlace> memory_words_place(std::string_view lower) {
    std::optional<WordsPlace> found = not_enough_memory(lower);
    for (const std::string_view words :
         {"out of memory", "out_of_memory", "out-of-memory", "outofmemory", "outofmemoryerror", "memoryerror", "oom"}) {
        for (auto at = lower.find(words); at != std::string_view::npos; at = lower.find(words, at + 1)) {
            const auto end = at + words.size();
            if ((at > 0 && is_word_part(lower[at - 1])) || (end < lower.size() && is_word_part(lower[end]))) continue;
            if (!found || at < found->begin) found = WordsPlace{.begin = at, .end = end, .host = words == "memoryerror"};
            break;
        }
    }
    return found;
}

std::vector<std::string_view> letters_of(std::string_view text) {
    std::vector<std::string_view> words;
    for (std::size_t i = 0; i < text.size();) {
        std::size_t stop = i;
        while (stop < text.size() && std::isalpha(static_cast<unsigned char>(text[stop])) != 0) ++stop;
        if (stop > i + 1) words.push_back(text.substr(i, stop - i));
        i = std::max(stop, i + 1);
    }
    return words;
}

/// True if the words directly before the memory words say that these were foreseen: "would run ", "predicted CUDA ".
[[nodiscard]] bool foreseen_before(std::string_view before) {
    static constexpr auto foreseen = std::to_array<std::string_view>(
        {"predicted", "predicts", "estimated", "expected", "anticipated", "projected", "would", "will", "could", "may", "might"});
    static constexpr auto between = std::to_array<std::string_view>({"to", "be", "run", "go", "get", "hit", "cause", "an", "the", "cuda",
                                                                     "hip", "gpu", "device", "host", "cpu", "likely", "probably", "again"});
    for (;;) {
        const auto last = before.find_last_not_of(' ');
        if (last == std::string_view::npos || last + 1 == before.size()) return false;  // another sign than a blank stands between
        const std::size_t begin = before.rfind(' ', last) + 1;                          // 0 if there is no blank
        const std::string_view word = before.substr(begin, last + 1 - begin);
        if (std::ranges::find(foreseen, word) != foreseen.end()) return true;
        if (std::ranges::find(between, word) == between.end()) return false;
        before = before.substr(0, begin);
    }
}

/// True if the word directly behind the memory words says that these were foreseen: " predicted (11.2 GiB needed)", " (expected)".
[[nodiscard]] bool foreseen_behind(std::string_view behind) {
    static constexpr auto foreseen =
        std::to_array<std::string_view>({"predicted", "prediction", "expected", "estimated", "anticipated", "projected", "forecast",
                                         "foreseen", "likely", "imminent", "inevitable"});
    if (!behind.starts_with(' ')) return false;
    behind.remove_prefix(1);
    const bool in_brackets = behind.starts_with('(') || behind.starts_with('[');
    if (in_brackets) behind.remove_prefix(1);
    const auto end = std::min(behind.find_first_not_of("abcdefghijklmnopqrstuvwxyz"), behind.size());
    if (in_brackets && !behind.substr(end).starts_with(')') && !behind.substr(end).starts_with(']')) return false;
    return std::ranges::find(foreseen, behind.substr(0, end)) != foreseen.end();
}

/// True if a text says that a predicted need of memory is more than there is: "estimated peak of 12.0 GiB exceeds the limit".
[[nodiscard]] bool foresees_too_much(std::string_view lower) {
    static constexpr Phrases excess{"would exceed ", "will exceed ", "would not fit~", "will not fit~", "wouldn't fit~", "won't fit~"};
    static constexpr Phrases need{"~predicted~", "~predicts~",    "~prediction~", "~estimated~",     "~estimates~",
                                  "~estimate~",  "~anticipated~", "~projected~",  "~expected peak~", "~expected memory~"};
    static constexpr Phrases too_much{" exceeds ",   " exceed ",      " does not fit~", " doesn't fit~", " cannot fit~", " can't fit~",
                                      " more than ", " larger than ", " above ",        " over ",        " > "};
    static constexpr Phrases memory{"~memory~", "~vram~", "~hbm~", "gib~", "mib~", "gb~", "mb~", "bytes~"};
    const auto says = [](std::string_view said, const Phrases& phrases) {
        return std::ranges::any_of(phrases, [said](std::string_view phrase) { return hpo::detail::contains_phrase(said, phrase); });
    };
    for (std::string_view rest = lower; !rest.empty();) {
        const std::string_view said = rest.substr(0, rest.find_first_of(";\n"));
        rest.remove_prefix(std::min(said.size() + 1, rest.size()));
        if (says(said, memory) && (says(said, excess) || (says(said, need) && says(said, too_much)))) return true;
    }
    return false;
}

bool predicts_oom(std::string_view text) {
    if (text.find('\n') != std::string_view::npos) return false;  // of several lines, another may tell of a real one
    const std::string lower = hpo::detail::searchable(text);
    // An allocator's own words: PyTorch's cudaMallocAsync says what an allocation "would exceed", and Python names the type of the error.
    if (hpo::detail::mentions_any(lower, {"would exceed allowed memory", "outofmemoryerror", "memoryerror"})) return false;
    if (const auto figures = read_oom_figures(text); figures && (figures->requested_bytes || figures->memory.allocated)) return false;
    const auto place = memory_words_place(lower);
    if (place &&
        (foreseen_before(std::string_view{lower}.substr(0, place->begin)) || foreseen_behind(std::string_view{lower}.substr(place->end))))
        return true;
    return foresees_too_much(lower);
}

bool says_refused(std::string_view text) {
    const std::string lower = hpo::detail::lower_case(text);
    return std::ranges::any_of(letters_of(lower), [](std::string_view word) {
        return std::ranges::any_of(std::to_array<std::string_view>({"skip", "prun", "refus", "reject", "discard"}),
                                   [word](std::string_view stem) { return word.starts_with(stem); });
    });
}

Failure refused_by_program(std::string reason) {
    Failure refused;
    refused.kind = FailureKind::predicted_oom;
    refused.cause = OomCause::capacity;
    refused.evidence = "its program predicted it: " + reason;
    refused.message = std::move(reason);
    return refused;
}

}  // namespace hpo::analysis::detail
