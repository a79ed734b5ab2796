// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "hpo/failure/rule_failure.hpp"
#include "hpo/failure/source_attributes.hpp"
#include "hpo/store/store.hpp"

namespace hpo::tuner {

/// The user attribute that names the attributes that could not be kept, each with the beginning of its value.
inline constexpr const char* dropped_attribute = "dropped_attributes";

/// True for a user attribute that only the tuner writes. Readers of a study rely on its meaning. An attribute of this name from a trainer
/// is not kept.
[[nodiscard]] inline bool is_reserved_attribute(std::string_view name) {
    return name == lost_attribute || name == rule_error_attribute || name == dropped_attribute ||
           std::ranges::find(source_attribute_names, name) != source_attribute_names.end();
}

}  // namespace hpo::tuner
