// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "hpo/base/inline.hpp"
#include "hpo/core/value.hpp"

namespace hpo {

HPO_INLINE std::string number_text(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    std::array<char, 32> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    std::string text{buffer.data(), end.ptr};
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

HPO_INLINE std::string json_quote(std::string_view text) {
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

HPO_INLINE std::string json_text(const Value& value) {
    switch (value.kind()) {
        case Value::Kind::truth: return *get_if<bool>(&value) ? "true" : "false";
        case Value::Kind::whole: return std::to_string(*get_if<std::int64_t>(&value));
        case Value::Kind::real: return number_text(*get_if<double>(&value));
        case Value::Kind::text: return json_quote(*get_if<std::string>(&value));
        case Value::Kind::null: break;
    }
    return "null";
}

HPO_INLINE std::string display_text(const Value& value) {
    if (const auto* text = get_if<std::string>(&value)) return *text;
    if (const auto* number = get_if<double>(&value)) {
        std::array<char, 32> buffer{};
        const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), *number, std::chars_format::general, 6);
        return {buffer.data(), end.ptr};
    }
    return json_text(value);
}

}  // namespace hpo
