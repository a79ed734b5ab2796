// SPDX-License-Identifier: MIT
#include "hpo/trainer/json_codec.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/base/nesting_depth.hpp"

namespace hpo::detail {

void refuse(const Json& json, const std::string& place, std::string_view expected) {
    std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > 80) text = text.substr(0, 77) + "...";
    throw bad_value(place, text, expected);
}

std::optional<double> non_finite(const Json& json) {
    if (json == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (json == "Infinity") return std::numeric_limits<double>::infinity();
    if (json == "-Infinity") return -std::numeric_limits<double>::infinity();
    return std::nullopt;
}

void decode_double(const Json& json, const std::string& place, double& value) {
    if (json.is_number()) value = json.get<double>();
    else if (const auto special = non_finite(json)) value = *special;
    else refuse(json, place, "a number");
}

Json encode_variant(const Value& value) {
    if (value.is_null()) return nullptr;
    if (const auto* truth = std::get_if<bool>(&value)) return *truth;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    const double number = std::get<double>(value);
    return std::isfinite(number) ? Json(number) : Json{{"number", number_text(number)}};
}

void decode_variant(const Json& json, const std::string& place, Value& value) {
    if (json.is_null()) value = Value{};
    else if (json.is_boolean()) value = json.get<bool>();
    else if (json.is_number_integer()) {
        std::int64_t whole = 0;
        decode_integer(json, place, whole);
        value = whole;
    } else if (json.is_number_float()) value = json.get<double>();
    else if (json.is_string()) value = json.get<std::string>();
    else if (json.is_object() && json.size() == 1 && json.contains("number") && non_finite(json["number"]))
        value = *non_finite(json["number"]);
    else refuse(json, place, "null, true, false, a number or a text");
}

}  // namespace hpo::detail

namespace hpo {

Json parse_json(std::string_view text, const std::string& place) {
    constexpr int deepest = 64;
    const std::string got = "'" + std::string{text.substr(0, 80)} + "'";
    if (nesting_depth(text) > deepest) throw bad_value(place, got, "JSON of at most 64 levels");
    Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) throw bad_value(place, got, "JSON");
    return json;
}

}  // namespace hpo
