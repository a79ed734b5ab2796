// SPDX-License-Identifier: MIT
#include "text/unicode.hpp"

#include <utf8proc.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

namespace hpo::text {

bool is_white_space(char32_t c) noexcept {
    if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
    if (c == 0x85 || c == 0xA0) return true;
    const auto category = detail::category(c);
    return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

void append_lower(std::u32string& text, char32_t c) {
    if (c == 0x130) {  // the only one whose lower case has two code points
        text += U"i\u0307";
        return;
    }
    text += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

std::u32string decomposed(const std::u32string& text) {
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
