// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "hpo/trainer/trainer.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::tune {

/// "cpu" or "cuda:N" for a device as people write it. Throws Error{bad_value, no_device} for what the trainer or the machine lacks.
[[nodiscard]] std::string usable_device(const std::string& place, const std::string& text, const TrainerInfo& info);

/// "cpu" or "cuda:N" for the first device of the settings, for commands that use one; auto takes the card with the most free memory where
/// the trainer can use one.
[[nodiscard]] std::string chosen_device(const Settings& settings, const TrainerInfo& info);

/// The same for plans that are only predicted: `cuda` and `cuda:N` stay what they are, also where this machine lacks them.
[[nodiscard]] std::string estimated_device(const Settings& settings, const TrainerInfo& info);

/// What the driver or the system calls "cpu" or "cuda:N"; empty if it does not say.
[[nodiscard]] std::string device_name(const std::string& device);

}  // namespace hpo::tune
