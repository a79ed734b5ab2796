// SPDX-License-Identifier: MIT
#include "support/metric_text.hpp"

#include <cmath>
#include <cstdint>

#include "hpo/base/bytes.hpp"
#include "hpo/core/value.hpp"
#include "support/json.hpp"

namespace hpo::tools {

std::string metric_value_text(std::string_view metric, double value) {
    constexpr double most = 0x1p62;
    if (!is_in_bytes(metric) || !std::isfinite(value) || std::fabs(value) > most) return display_text(value);
    if (std::fabs(value) < 1024) return display_text(value) + " bytes";  // a mean may be no whole number
    return format_bytes(std::llround(value));
}

std::string attribute_text(std::string_view name, const std::string& json) {
    if (!is_in_bytes(name)) return json;
    const Json value = Json::parse(json, nullptr, false);
    return value.is_number() ? metric_value_text(name, value.get<double>()) : json;
}

}  // namespace hpo::tools
