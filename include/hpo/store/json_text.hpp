// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/nesting_depth.hpp"
#include "hpo/base/utf8.hpp"
#include "hpo/core/value.hpp"

namespace hpo::store {

using Json = nlohmann::json;

/// The numbers that Python's json module writes and JSON does not have. Beside each is the text that replaces it in parse_json.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 3> python_numbers{
    {{"-Infinity", "\x01-Infinity"}, {"Infinity", "\x01Infinity"}, {"NaN", "\x01NaN"}}};

/// parse_json reads no text with more levels. Python's reader stops at about twice as many.
inline constexpr int most_levels = 500;

/// Reads JSON text, with Python's NaN and Infinity. The result is discarded (`is_discarded()`) if the text is not JSON or has too many
/// levels.
template <class AnyJson = Json>
[[nodiscard]] AnyJson parse_json(std::string_view text) {
    if (nesting_depth(text) > most_levels) return AnyJson::value_t::discarded;
    AnyJson parsed = AnyJson::parse(text, nullptr, false);
    if (!parsed.is_discarded()) return parsed;
    std::string plain;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '"') quoted = !quoted;
        bool replaced = false;
        for (const auto& [token, mark] : python_numbers) {
            if (quoted || text.substr(i, token.size()) != token) continue;
            plain += "\"\\u0001" + std::string{mark.substr(1)} + "\"";
            i += token.size() - 1;
            replaced = true;
            break;
        }
        if (replaced) continue;
        plain += text[i];
        if (quoted && text[i] == '\\' && i + 1 < text.size()) plain += text[++i];
    }
    return AnyJson::parse(plain, nullptr, false);
}

/// The objects of a JSON list. Empty if the text is something else.
[[nodiscard]] std::vector<Json> json_objects(std::string_view text);

/// The number of a JSON value: a number, one of Python's numbers, or a text with a number, as another program stores constraints. Returns
/// nullopt for any other value.
template <class AnyJson>
[[nodiscard]] std::optional<double> json_number(const AnyJson& json) {
    if (json.is_number()) return json.template get<double>();
    if (!json.is_string()) return std::nullopt;
    const auto& text = json.template get_ref<const std::string&>();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (const auto& [token, mark] : python_numbers) {
        if (text == mark || text == token)
            return token == "NaN" ? std::numeric_limits<double>::quiet_NaN() : token[0] == '-' ? -infinity : infinity;
    }
    double value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
    return value;
}

/// True if the text, made well-formed UTF-8, may be stored as an attribute.
[[nodiscard]] inline bool is_json(std::string_view text) { return !parse_json(valid_utf8(text)).is_discarded(); }
/// The text of an attribute as well-formed UTF-8. Throws bad_value if it is no JSON, because one bad attribute would make every other
/// program refuse the whole study.
[[nodiscard]] std::string checked_json(std::string_view place, std::string_view key, std::string_view json);

/// A parameter value. A list or an object cannot be one, and becomes its JSON text.
template <class AnyJson>
[[nodiscard]] Value json_value(const AnyJson& json) {
    switch (json.type()) {
        case Json::value_t::null: return Value{};
        case Json::value_t::boolean: return json.template get<bool>();
        case Json::value_t::number_integer: return json.template get<std::int64_t>();
        case Json::value_t::number_unsigned: {
            const auto whole = json.template get<std::uint64_t>();
            if (whole > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return static_cast<double>(whole);
            return static_cast<std::int64_t>(whole);
        }
        case Json::value_t::number_float: return json.template get<double>();
        case Json::value_t::string: {
            const auto& text = json.template get_ref<const std::string&>();
            if (!text.empty() && text[0] == '\x01') {
                if (const auto number = json_number(json)) return *number;
            }
            return text;
        }
        default: return json.dump();
    }
}

}  // namespace hpo::store
