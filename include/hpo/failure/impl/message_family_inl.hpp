// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>

#include "hpo/base/inline.hpp"
#include "hpo/failure/message_family.hpp"

namespace hpo::detail {

[[nodiscard]] HPO_INLINE bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The end of `pattern` in `line`, if it stands at `at`. Returns npos if it does not. `#` takes all the digits of a number.
[[nodiscard]] HPO_INLINE std::size_t end_of_match(std::string_view line, std::size_t at, std::string_view pattern) {
    for (const char wanted : pattern) {
        if (wanted == '#') {
            const std::size_t end = std::min(line.find_first_not_of("0123456789", at), line.size());
            if (end == at) return std::string_view::npos;
            at = end;
        } else {
            if (at >= line.size() || line[at] != wanted) return std::string_view::npos;
            ++at;
        }
    }
    return at;
}

/// A phrase without its signs, and what the signs ask for.
struct ParsedPhrase {
    std::string_view pattern;
    bool begins_line = false;
    bool ends_line = false;
    bool begins_word = false;
    bool ends_word = false;

    explicit ParsedPhrase(std::string_view phrase) : pattern{phrase} {
        begins_line = pattern.starts_with('^');
        begins_word = pattern.starts_with('~');
        if (begins_line || begins_word) pattern.remove_prefix(1);
        ends_line = pattern.ends_with('$');
        ends_word = pattern.ends_with('~');
        if (ends_line || ends_word) pattern.remove_suffix(1);
    }

    /// The characters before the first number.
    [[nodiscard]] std::string_view literal() const { return pattern.substr(0, pattern.find('#')); }
};

HPO_INLINE std::string_view literal_of(std::string_view phrase) { return ParsedPhrase{phrase}.literal(); }

HPO_INLINE bool contains_phrase(std::string_view line, std::string_view phrase) {
    const ParsedPhrase wanted{phrase};
    for (auto at = line.find(wanted.literal()); at != std::string_view::npos; at = line.find(wanted.literal(), at + 1)) {
        if (wanted.begins_line && at > 0) return false;
        const std::size_t end = end_of_match(line, at, wanted.pattern);
        if (end == std::string_view::npos) continue;
        if (wanted.begins_word && at > 0 && is_word_character(line[at - 1])) continue;
        if (wanted.ends_word && end < line.size() && is_word_character(line[end])) continue;
        if (wanted.ends_line && end < line.size()) continue;
        return true;
    }
    return false;
}

HPO_INLINE bool belongs_to(std::string_view line, const MessageFamily& family) {
    const auto there = [line](std::string_view phrase) { return contains_phrase(line, phrase); };
    return std::ranges::all_of(family.all, there) && (family.any.empty() || std::ranges::any_of(family.any, there)) &&
           std::ranges::none_of(family.none, there);
}

HPO_INLINE std::string searchable(std::string_view text) {
    std::string plain;
    plain.reserve(text.size());
    for (const char c : text) {
        const bool blank = c == ' ' || c == '\t' || c == '\r';
        if (blank && (plain.empty() || plain.back() == ' ' || plain.back() == '\n')) continue;
        if (c == '\n' && plain.ends_with(' ')) plain.pop_back();
        plain += blank ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    if (plain.ends_with(' ')) plain.pop_back();
    return plain;
}

}  // namespace hpo::detail
