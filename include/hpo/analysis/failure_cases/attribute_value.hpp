// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/base/json_string.hpp"
#include "hpo/core/attributes.hpp"

namespace hpo::analysis {

/// The number of a JSON text. Returns nullopt if it is not a finite number.
[[nodiscard]] std::optional<double> json_number(std::string_view json);

/// The number in member `name` of a flat JSON object of numbers, such as a memory reading.
[[nodiscard]] std::optional<double> json_member_number(std::string_view object, std::string_view name);

/// The attribute's JSON text, or an empty view.
[[nodiscard]] inline std::string_view attribute_json(const Attributes& attributes, std::string_view name) {
    const auto found = attributes.find(name);
    return found == attributes.end() ? std::string_view{} : std::string_view{found->second};
}

/// The first of these attributes that is a text.
[[nodiscard]] std::optional<std::string> attribute_text(const Attributes& attributes, std::initializer_list<std::string_view> names);

/// True if the attribute exists and is `true`, 1 or a text that is not empty.
[[nodiscard]] bool attribute_is_set(const Attributes& attributes, std::string_view name);

/// The name of the first attribute that is set and has one of these names, in capitals or not. Empty if there is none.
[[nodiscard]] std::string_view set_attribute(const Attributes& attributes, std::initializer_list<std::string_view> names);

}  // namespace hpo::analysis
