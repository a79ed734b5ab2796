// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cctype>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::analysis {

/// The words of a name in lower case, without plural and number: "encoder.numLayers2" gives encoder, num, layer.
[[nodiscard]] inline std::vector<std::string> words_of(std::string_view name) {
    std::vector<std::string> words(1);
    bool lower_before = false;
    for (const char letter : name) {
        const auto c = static_cast<unsigned char>(letter);
        const bool begins = std::isupper(c) != 0 && lower_before;
        if ((std::isalpha(c) == 0 || begins) && !words.back().empty()) words.emplace_back();
        if (std::isalpha(c) != 0) words.back() += static_cast<char>(std::tolower(c));
        lower_before = std::islower(c) != 0;
    }
    if (words.back().empty()) words.pop_back();
    for (std::string& word : words) {
        const bool plural = word.size() > 3 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us");
        if (plural) word.pop_back();
    }
    return words;
}

[[nodiscard]] inline bool names_one_of(std::string_view name, std::span<const std::string_view> known) {
    return std::ranges::any_of(words_of(name), [&](const std::string& word) { return std::ranges::find(known, word) != known.end(); });
}

[[nodiscard]] inline bool names_only(std::span<const std::string> words, std::span<const std::string_view> known) {
    return std::ranges::all_of(words, [&](const std::string& word) { return std::ranges::find(known, word) != known.end(); });
}

}  // namespace hpo::analysis
