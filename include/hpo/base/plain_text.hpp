// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "hpo/base/utf8.hpp"

namespace hpo {

/// True for well-formed UTF-8 without control characters (NUL, line ends, DEL, U+0080 to U+009F). Names must be such text.
[[nodiscard]] constexpr bool is_plain_text(std::string_view text) noexcept {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text, at);
        const auto first = static_cast<unsigned char>(text[at]);
        if (length == 0 || first < 0x20 || first == 0x7F) return false;
        if (first == 0xC2 && static_cast<unsigned char>(text[at + 1]) < 0xA0) return false;
        at += length;
    }
    return true;
}

/// The text without the blanks and tabs around it.
[[nodiscard]] constexpr std::string_view trimmed(std::string_view text) noexcept {
    constexpr std::string_view blanks = " \t";
    const auto first = text.find_first_not_of(blanks);
    return first == std::string_view::npos ? std::string_view{} : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// The text in single quotes, in a form that any terminal shows. A byte that is not printable ASCII becomes a backslash, x and two
/// hexadecimal digits.
[[nodiscard]] inline std::string ascii_text(std::string_view text) {
    static constexpr std::string_view hex = "0123456789abcdef";
    std::string shown = "'";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7F) shown += c;
        else (shown += "\\x") += {hex[byte >> 4U], hex[byte & 15U]};
    }
    return shown + "'";
}

}  // namespace hpo
