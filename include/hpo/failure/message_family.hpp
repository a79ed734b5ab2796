// SPDX-License-Identifier: MIT
#pragma once

#include <array>
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

#ifndef HPO_COMPILED
#include "hpo/failure/impl/message_family_inl.hpp"
#endif
