// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/core/failure.hpp"
#include "hpo/failure/blame.hpp"

namespace hpo {

/// A few phrases in lower case. Four signs have a meaning in a phrase:
///
/// - `^` at the beginning: the line begins here.
/// - `$` at the end: the line ends here.
/// - `~` at either end: no letter, digit or underscore stands next to it.
/// - `#`: a whole number. It is not the first character of a phrase.
class Phrases {
public:
    constexpr Phrases() = default;

    template <std::size_t... Sizes>
    consteval Phrases(const char (&... phrases)[Sizes]) : phrases_{std::string_view{phrases}...}, count_{sizeof...(Sizes)} {}  // NOLINT

    [[nodiscard]] constexpr const std::string_view* begin() const { return phrases_.data(); }
    [[nodiscard]] constexpr const std::string_view* end() const { return phrases_.data() + count_; }
    [[nodiscard]] constexpr bool empty() const { return count_ == 0; }

private:
    std::array<std::string_view, 20> phrases_{};
    std::ptrdiff_t count_ = 0;
};

/// Messages of one origin, which say the same. A line belongs to the family if it contains the phrases. Only one line is looked at.
struct MessageFamily {
    std::string_view name;                   ///< "ONNX Runtime's arena"
    FailureKind kind;                        ///< what such a message says
    Phrases all{};                           ///< each must be there
    Phrases any{};                           ///< one must be there, unless there are none
    Phrases none{};                          ///< none may be there
    std::optional<int> signal{};             ///< the signal that ended a process, if the message says so
    std::optional<Recurrence> recurrence{};  ///< if it differs from that of the kind
    bool ends_process = false;               ///< the process that it is about is gone
    bool is_guess = false;                   ///< such a message says this most often, and sometimes something else
};

namespace detail {

/// True if a line contains the phrase. The line is in the form that `searchable` gives.
[[nodiscard]] bool contains_phrase(std::string_view line, std::string_view phrase);

/// The characters of a phrase before the first number, without its signs. A text without them does not contain the phrase.
[[nodiscard]] std::string_view literal_of(std::string_view phrase);

/// True if a line belongs to a family.
[[nodiscard]] bool belongs_to(std::string_view line, const MessageFamily& family);

/// A text in lower case. Each run of blanks is one blank, and lines neither begin nor end with one. Lines stay lines.
[[nodiscard]] std::string searchable(std::string_view text);

}  // namespace detail

}  // namespace hpo

namespace hpo::detail {

[[nodiscard]] inline bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The end of `pattern` in `line`, if it stands at `at`. Returns npos if it does not. `#` takes all the digits of a number.
[[nodiscard]] inline std::size_t end_of_match(std::string_view line, std::size_t at, std::string_view pattern) {
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

inline std::string_view literal_of(std::string_view phrase) { return ParsedPhrase{phrase}.literal(); }

inline bool contains_phrase(std::string_view line, std::string_view phrase) {
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

inline bool belongs_to(std::string_view line, const MessageFamily& family) {
    const auto there = [line](std::string_view phrase) { return contains_phrase(line, phrase); };
    return std::ranges::all_of(family.all, there) && (family.any.empty() || std::ranges::any_of(family.any, there)) &&
           std::ranges::none_of(family.none, there);
}

inline std::string searchable(std::string_view text) {
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
