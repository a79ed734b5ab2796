// SPDX-License-Identifier: MIT
#include "hpo/analysis/failure_cases/attribute_value.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace hpo::analysis {

std::optional<double> json_number(std::string_view json) {
    double number = 0;
    const auto [stop, status] = std::from_chars(json.data(), json.data() + json.size(), number);
    if (json.empty() || status != std::errc{} || stop != json.data() + json.size() || !std::isfinite(number)) return std::nullopt;
    return number;
}

std::optional<double> json_member_number(std::string_view object, std::string_view name) {
    const std::string quoted = '"' + std::string{name} + '"';
    const auto at = object.find(quoted);
    if (at == std::string_view::npos) return std::nullopt;
    const auto from = object.find_first_not_of(" :", at + quoted.size());
    if (from == std::string_view::npos) return std::nullopt;
    const auto end = object.find_first_of(",} ", from);
    return json_number(object.substr(from, end == std::string_view::npos ? end : end - from));
}

std::optional<std::string> attribute_text(const Attributes& attributes, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
        if (auto text = json_string(attribute_json(attributes, name))) return text;
    }
    return std::nullopt;
}

bool attribute_is_set(const Attributes& attributes, std::string_view name) {
    const std::string_view json = attribute_json(attributes, name);
    if (json == "true" || json == "1") return true;
    const auto text = json_string(json);
    return text && !text->empty() && *text != "false" && *text != "False" && *text != "0";
}

std::string_view set_attribute(const Attributes& attributes, std::initializer_list<std::string_view> names) {
    const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
    for (const auto& [name, json] : attributes) {
        const bool is_meant = std::ranges::any_of(names, [&](std::string_view wanted) { return std::ranges::equal(name, wanted, same); });
        if (is_meant && attribute_is_set(attributes, name)) return name;
    }
    return {};
}

}  // namespace hpo::analysis
