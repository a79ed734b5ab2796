// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace hpo {

/// How an attempt's decision says that its retry waits for free memory, whoever decided so. The post-mortem counts such retries by it.
inline constexpr std::string_view waits_for_free_memory = "when enough of the device is free";

}  // namespace hpo
