// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace hpo {

/// A parameter's value as a person sees it: null, a truth value, a whole number, a number, a text.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// The shortest decimal that reads back as the same double; whole numbers keep a ".0". Infinities and NaN are written as
/// Python's json writes them (Infinity, -Infinity, NaN).
[[nodiscard]] inline std::string number_text(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    std::array<char, 32> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    std::string text{buffer.data(), end.ptr};
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

/// A JSON string literal, with non-ASCII bytes kept as they are (UTF-8).
[[nodiscard]] inline std::string json_quote(std::string_view text) {
    static constexpr std::string_view hex = "0123456789abcdef";
    std::string quoted = "\"";
    for (const char c : text) {
        switch (c) {
            case '"': quoted += "\\\""; break;
            case '\\': quoted += "\\\\"; break;
            case '\n': quoted += "\\n"; break;
            case '\r': quoted += "\\r"; break;
            case '\t': quoted += "\\t"; break;
            default:
                if (static_cast<unsigned char>(c) < 0x20) {
                    quoted += "\\u00";
                    quoted += hex[static_cast<unsigned char>(c) >> 4U];
                    quoted += hex[static_cast<unsigned char>(c) & 15U];
                } else {
                    quoted += c;
                }
        }
    }
    return quoted + "\"";
}

/// The value as JSON text.
[[nodiscard]] inline std::string json_text(const Value& value) {
    return std::visit(
        [](const auto& v) -> std::string {
            using T = std::decay_t<decltype(v)>;
            if constexpr (std::is_same_v<T, std::monostate>) return "null";
            else if constexpr (std::is_same_v<T, bool>) return v ? "true" : "false";
            else if constexpr (std::is_same_v<T, std::int64_t>) return std::to_string(v);
            else if constexpr (std::is_same_v<T, double>) return number_text(v);
            else return json_quote(v);
        },
        value);
}

/// The value as a person reads it: as json_text, texts without quotes.
[[nodiscard]] inline std::string display_text(const Value& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* number = std::get_if<double>(&value)) {
        std::array<char, 32> buffer{};
        const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), *number, std::chars_format::general, 6);
        return {buffer.data(), end.ptr};
    }
    return json_text(value);
}

}  // namespace hpo
