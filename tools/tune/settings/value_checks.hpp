// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "support/rotating_file.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::tune {

/// One check for each setting that can be judged by itself, without the trainer, the store or a device. Each throws Error if its value is
/// wrong. The last one is about options that have no effect beside the others (tell_idle_options), and looks for GPUs. They refer to
/// `settings`.
[[nodiscard]] std::vector<std::function<void()>> value_checks(const Settings& settings);

/// The log of a run, as --log and --log-size say. Returns nullopt if there is none. Throws Error if one of the two is wrong.
[[nodiscard]] std::optional<tools::RotatingFile> opened_log(const Settings& settings);

}  // namespace hpo::tune
