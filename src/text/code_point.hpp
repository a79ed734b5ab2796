// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "hpo/base/utf8.hpp"

namespace hpo::text {

/// One code point of a text and the bytes that it takes.
struct CodePoint {
    char32_t value = 0;
    std::size_t bytes = 1;
};

inline constexpr char32_t replacement_character = 0xFFFD;

/// Decodes the code point that begins at `at`, which must be inside the text. A byte that belongs to no well-formed character counts as one
/// replacement character.
[[nodiscard]] constexpr CodePoint decode(std::string_view text, std::size_t at) noexcept {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) return {replacement_character, 1};
    char32_t value = static_cast<unsigned char>(text[at]);
    if (length == 1) return {value, 1};
    value &= 0xFFU >> (length + 1);
    for (std::size_t i = 1; i < length; ++i) value = value << 6U | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
    return {value, length};
}

/// Appends a code point, which must be a Unicode scalar value.
constexpr void append_utf8(std::string& text, char32_t value) {
    const auto put = [&](char32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
    if (value < 0x80) return put(value);
    if (value < 0x800) {
        put(0xC0 | value >> 6U);
    } else {
        if (value < 0x10000) {
            put(0xE0 | value >> 12U);
        } else {
            put(0xF0 | value >> 18U);
            put(0x80 | (value >> 12U & 0x3FU));
        }
        put(0x80 | (value >> 6U & 0x3FU));
    }
    put(0x80 | (value & 0x3FU));
}

}  // namespace hpo::text
