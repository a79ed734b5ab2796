// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace hpo::tools {

/// True if the name of a metric or attribute says that its values are sizes of memory: "peak_memory_bytes".
[[nodiscard]] inline bool is_in_bytes(std::string_view name) { return name.ends_with("_bytes"); }

/// A value of the metric for people: "0.862", or "16.39 MiB" if it is in bytes.
[[nodiscard]] std::string metric_value_text(std::string_view metric, double value);

/// An attribute's JSON text for people. A number of bytes is shown as a size.
[[nodiscard]] std::string attribute_text(std::string_view name, const std::string& json);

}  // namespace hpo::tools
