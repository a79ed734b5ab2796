// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tune/settings/settings.hpp"

namespace hpo::tune {

/// One check for each setting that can be judged by itself, without the trainer, the store or a device. Each throws Error if its value is
/// wrong. The last one is about options that have no effect beside the others (tell_idle_options), and looks for GPUs. They refer to
/// `settings`.
[[nodiscard]] std::vector<std::function<void()>> value_checks(const Settings& settings);

/// The size at which the log of a run begins anew. Throws Error if it is wrong.
[[nodiscard]] std::int64_t log_bytes(const Settings& settings);

}  // namespace hpo::tune
