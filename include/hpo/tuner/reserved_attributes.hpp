// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "hpo/failure/source_attributes.hpp"
#include "hpo/store/store.hpp"

namespace hpo::tuner {

/// The user attribute that keeps the error of a rule; `error_message` is what the rule was asked about.
inline constexpr const char* rule_error_attribute = "rule_error";
/// The user attribute that names the attributes that could not be kept, with the beginning of what they were.
inline constexpr const char* dropped_attribute = "dropped_attributes";

/// True for a user attribute that the tuner writes to trials itself and that readers of a study take at its word. What a trainer tells
/// under such a name is not kept.
[[nodiscard]] inline bool is_reserved_attribute(std::string_view name) {
    return name == lost_attribute || name == rule_error_attribute || name == dropped_attribute ||
           std::ranges::find(source_attribute_names, name) != source_attribute_names.end();
}

}  // namespace hpo::tuner
