// SPDX-License-Identifier: MIT
#include "text/stored/config_fields.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hpo::text::detail {

std::int64_t ConfigFields::whole(const char* key, const Whole& range) const {
    const std::string expected = "a whole number from " + std::to_string(range.least) + " to " + std::to_string(range.most);
    const nlohmann::json* value = find(key);
    if (value == nullptr) {
        if (range.otherwise) return *range.otherwise;
        throw bad_value(at(key), "nothing", expected);
    }
    const bool counts =
        value->is_number_unsigned() ? value->get<std::uint64_t>() <= static_cast<std::uint64_t>(range.most) : value->is_number_integer();
    if (!counts || value->get<std::int64_t>() < range.least) throw bad_value(at(key), shown_json(*value), expected);
    return value->get<std::int64_t>();
}

double ConfigFields::number(const char* key, double otherwise, double limit) const {
    const nlohmann::json* value = find(key);
    if (value == nullptr) return otherwise;
    const double read = value->is_number() ? value->get<double>() : std::numeric_limits<double>::quiet_NaN();
    if (!(read >= 0 && read < limit)) {
        throw bad_value(at(key), shown_json(*value), "a number from 0 on that is less than " + std::to_string(static_cast<int>(limit)));
    }
    return read;
}

void ConfigFields::require(const char* key, const std::vector<nlohmann::json>& supported) const {
    const nlohmann::json* value = find(key);
    if (value == nullptr || std::find(supported.begin(), supported.end(), *value) == supported.end())
        throw unsupported(key, value, supported.front());
}

}  // namespace hpo::text::detail
