// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace hpo {

/// The text of a JSON string literal. Returns nullopt if `json` is not one.
[[nodiscard]] std::optional<std::string> json_string(std::string_view json);

}  // namespace hpo

namespace hpo::detail {

inline void append_utf8(std::string& text, std::uint32_t point) {
    const auto put = [&](std::uint32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
    if (point < 0x80U) {
        put(point);
    } else if (point < 0x800U) {
        put(0xC0U | (point >> 6U));
        put(0x80U | (point & 0x3FU));
    } else if (point < 0x10000U) {
        put(0xE0U | (point >> 12U));
        put(0x80U | ((point >> 6U) & 0x3FU));
        put(0x80U | (point & 0x3FU));
    } else {
        put(0xF0U | (point >> 18U));
        put(0x80U | ((point >> 12U) & 0x3FU));
        put(0x80U | ((point >> 6U) & 0x3FU));
        put(0x80U | (point & 0x3FU));
    }
}

[[nodiscard]] inline std::optional<std::uint32_t> four_hex_digits(std::string_view text) {
    std::uint32_t number = 0;
    if (text.size() < 4) return std::nullopt;
    const auto [stop, status] = std::from_chars(text.data(), text.data() + 4, number, 16);
    if (status != std::errc{} || stop != text.data() + 4) return std::nullopt;
    return number;
}

}  // namespace hpo::detail

namespace hpo {

inline std::optional<std::string> json_string(std::string_view json) {
    if (json.size() < 2 || json.front() != '"' || json.back() != '"') return std::nullopt;
    json = json.substr(1, json.size() - 2);
    std::string text;
    text.reserve(json.size());
    for (std::size_t i = 0; i < json.size(); ++i) {
        if (json[i] == '"') return std::nullopt;
        if (json[i] != '\\') {
            text += json[i];
            continue;
        }
        if (++i == json.size()) return std::nullopt;
        static constexpr std::string_view escapes = "\"\\/bfnrt";
        static constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
        if (const auto at = escapes.find(json[i]); at != std::string_view::npos) {
            text += meanings[at];
            continue;
        }
        auto point = json[i] == 'u' ? detail::four_hex_digits(json.substr(i + 1)) : std::nullopt;
        if (!point) return std::nullopt;
        i += 4;
        if (*point >= 0xD800U && *point < 0xDC00U && json.substr(i + 1).starts_with("\\u")) {
            const auto low = detail::four_hex_digits(json.substr(i + 3));
            if (low && *low >= 0xDC00U && *low < 0xE000U) {
                *point = 0x10000U + ((*point - 0xD800U) << 10U) + (*low - 0xDC00U);
                i += 6;
            }
        }
        detail::append_utf8(text, *point);
    }
    return text;
}

}  // namespace hpo
