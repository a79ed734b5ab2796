// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "hpo/core/history.hpp"

namespace hpo::tools {

using Json = nlohmann::ordered_json;

/// A number; NaN and infinities, which JSON lacks, as the texts "NaN", "Infinity", "-Infinity".
[[nodiscard]] Json to_json(double number);
[[nodiscard]] Json to_json(const Value& value);
[[nodiscard]] Json to_json(const ParamSet& params);
[[nodiscard]] Json to_json(const ExecutionPlan& plan);
[[nodiscard]] Json to_json(const MemoryReading& reading);
[[nodiscard]] Json to_json(const Attributes& attributes);

/// The value, or null.
template <class T>
[[nodiscard]] Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}
[[nodiscard]] Json time_or_null(const std::optional<Time>& time);
/// The text, or null for an empty one.
[[nodiscard]] Json text_or_null(const std::string& text);

/// An object of values by name, from pairs of a name and a Value.
template <class NamedValues>
[[nodiscard]] Json named_values(const NamedValues& values) {
    Json json = Json::object();
    for (const auto& [name, value] : values) json[name] = to_json(value);
    return json;
}

/// The document on one line, as a store keeps it; bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string one_line_text(const Json& json);

/// Writes the document and a line end to standard output; bytes that are not UTF-8 are replaced.
void print(const Json& json);

}  // namespace hpo::tools
