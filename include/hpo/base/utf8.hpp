// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hpo {

/// The number of bytes, 1 to 4, of the well-formed UTF-8 character that begins at `at`. Returns 0 if no such character begins there or the
/// text ends. Overlong forms, surrogates and values above U+10FFFF are not well-formed (the Unicode Standard, table 3-7).
[[nodiscard]] constexpr std::size_t utf8_length(std::string_view text, std::size_t at) noexcept {
    const auto byte = [&](std::size_t place) { return place < text.size() ? static_cast<unsigned char>(text[place]) : 0xFFU; };
    const unsigned lead = byte(at);
    if (lead < 0x80) return 1;
    if (lead < 0xC2 || lead > 0xF4) return 0;
    const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    const unsigned lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (byte(at + 1) < lowest || byte(at + 1) > highest) return 0;
    for (std::size_t i = 2; i < length; ++i) {
        if ((byte(at + i) & 0xC0U) != 0x80) return 0;
    }
    return length;
}

/// The position of the first byte that is not part of well-formed UTF-8, or npos.
[[nodiscard]] constexpr std::size_t find_invalid_utf8(std::string_view text) noexcept {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text, at);
        if (length == 0) return at;
        at += length;
    }
    return std::string_view::npos;
}

/// The text as well-formed UTF-8. Each other byte becomes U+FFFD.
[[nodiscard]] inline std::string valid_utf8(std::string_view text) {
    std::string valid;
    valid.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text, at);
        if (length > 0) valid.append(text, at, length);
        else valid += "\xEF\xBF\xBD";
        at += length > 0 ? length : 1;
    }
    return valid;
}

}  // namespace hpo
