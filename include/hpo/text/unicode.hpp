// SPDX-License-Identifier: MIT
#pragma once

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

namespace hpo::text {

// What the tokenizers ask of Unicode, answered by utf8proc; no other header includes it. Which release of Unicode that is decides
// about code points newer than it (utf8proc 2.8: Unicode 15).

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
/// General category Mn, what is left of an accent after decomposition.
[[nodiscard]] inline bool is_nonspacing_mark(char32_t c) noexcept { return detail::category(c) == UTF8PROC_CATEGORY_MN; }

/// The property White_Space.
[[nodiscard]] inline bool is_white_space(char32_t c) noexcept {
    if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
    if (c == 0x85 || c == 0xA0) return true;
    const auto category = detail::category(c);
    return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

/// Appends the lower-case form of one code point, whatever stands beside it: a sigma at a word's end becomes an ordinary one.
inline void append_lower(std::u32string& text, char32_t c) {
    if (c == 0x130) {  // the one whose lower case is two code points
        text += U"i\u0307";
        return;
    }
    text += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

/// Canonical decomposition (NFD). Linear apart from runs of combining marks, which are sorted.
[[nodiscard]] inline std::u32string decomposed(const std::u32string& text) {
    std::u32string result;
    result.reserve(text.size());
    for (const char32_t c : text) {
        std::array<utf8proc_int32_t, 16> buffer{};
        int boundary = 0;
        const auto count =
            utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), buffer.data(), buffer.size(), UTF8PROC_DECOMPOSE, &boundary);
        if (count < 1 || count > static_cast<utf8proc_ssize_t>(buffer.size())) {
            result += c;
            continue;
        }
        for (utf8proc_ssize_t i = 0; i < count; ++i) result += static_cast<char32_t>(buffer[static_cast<std::size_t>(i)]);
    }
    const auto order = [](char32_t c) { return utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class; };
    for (auto begin = result.begin(); begin != result.end();) {
        begin = std::find_if(begin, result.end(), [&](char32_t c) { return order(c) != 0; });
        const auto end = std::find_if(begin, result.end(), [&](char32_t c) { return order(c) == 0; });
        std::stable_sort(begin, end, [&](char32_t a, char32_t b) { return order(a) < order(b); });
        begin = end;
    }
    return result;
}

}  // namespace hpo::text
