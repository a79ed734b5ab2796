// SPDX-License-Identifier: MIT
#pragma once

#include <utf8proc.h>

#include <string>

namespace hpo::text {

// Unicode questions of the tokenizers, answered by utf8proc. No other header includes it. Its release of Unicode decides which code points
// it knows (utf8proc 2.8: Unicode 15).

namespace detail {
[[nodiscard]] inline utf8proc_category_t category(char32_t c) noexcept { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }
}  // namespace detail

/// General category L.
[[nodiscard]] inline bool is_letter(char32_t c) noexcept {
    const auto category = detail::category(c);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}
/// General category N.
[[nodiscard]] inline bool is_number(char32_t c) noexcept {
    const auto category = detail::category(c);
    return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}
/// General category P.
[[nodiscard]] inline bool is_punctuation(char32_t c) noexcept {
    const auto category = detail::category(c);
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}
/// Control, format, private use: categories Cc, Cf, Co.
[[nodiscard]] inline bool is_control(char32_t c) noexcept {
    const auto category = detail::category(c);
    return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_CO;
}
/// General category Mn: accents after decomposition.
[[nodiscard]] inline bool is_nonspacing_mark(char32_t c) noexcept { return detail::category(c) == UTF8PROC_CATEGORY_MN; }

/// The property White_Space.
[[nodiscard]] bool is_white_space(char32_t c) noexcept;

/// Appends the lower case of one code point. It ignores the neighbours, so a sigma at a word's end becomes an ordinary sigma.
void append_lower(std::u32string& text, char32_t c);

/// Canonical decomposition (NFD). It takes linear time, except that it sorts runs of combining marks.
[[nodiscard]] std::u32string decomposed(const std::u32string& text);

}  // namespace hpo::text
