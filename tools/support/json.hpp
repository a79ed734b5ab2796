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

/// Writes the document and a line end to standard output; bytes that are not UTF-8 are replaced.
void print(const Json& json);

}  // namespace hpo::tools
