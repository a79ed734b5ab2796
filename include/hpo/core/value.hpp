// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace hpo {

/// A parameter's value as a person sees it: null, a truth value, a whole number, a number or a text. The whole number 1 is not equal to the
/// number 1.0.
struct Value : std::variant<std::monostate, bool, std::int64_t, double, std::string> {
    using variant::variant;
    Value(std::string_view text) : variant{std::string{text}} {}

    [[nodiscard]] bool is_null() const noexcept { return index() == 0; }

    friend bool operator==(const Value&, const Value&) = default;
};

/// The value as a number; truth values are 0 and 1. Returns nullopt for a text and for null.
[[nodiscard]] inline std::optional<double> as_number(const Value& value) {
    if (const auto* const real = std::get_if<double>(&value)) return *real;
    if (const auto* const whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    if (const auto* const truth = std::get_if<bool>(&value)) return *truth ? 1.0 : 0.0;
    return std::nullopt;
}

/// The shortest decimal that reads back as the same double. A whole number keeps a ".0". Infinities and NaN are written as Python's json
/// module writes them (Infinity, -Infinity, NaN).
[[nodiscard]] std::string number_text(double value);

/// The text as a JSON string literal. Non-ASCII bytes are kept as they are (UTF-8).
[[nodiscard]] std::string json_quote(std::string_view text);

/// The value as JSON text.
[[nodiscard]] std::string json_text(const Value& value);

/// The value as a person reads it: as json_text, but texts have no quotes.
[[nodiscard]] std::string display_text(const Value& value);

inline std::string number_text(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    std::array<char, 32> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    std::string text{buffer.data(), end.ptr};
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

inline std::string json_quote(std::string_view text) {
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

inline std::string json_text(const Value& value) {
    if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
    if (const auto* real = std::get_if<double>(&value)) return number_text(*real);
    if (const auto* text = std::get_if<std::string>(&value)) return json_quote(*text);
    return "null";
}

inline std::string display_text(const Value& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* number = std::get_if<double>(&value)) {
        std::array<char, 32> buffer{};
        const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), *number, std::chars_format::general, 6);
        return {buffer.data(), end.ptr};
    }
    return json_text(value);
}

}  // namespace hpo
