// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace hpo {

/// True for "cpu", and for "cpu:N", one of several parts of this machine's memory that a run uses like devices.
[[nodiscard]] constexpr bool is_cpu(std::string_view device) { return device == "cpu" || device.starts_with("cpu:"); }

}  // namespace hpo
