// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "hpo/registry/any_memory_guard.hpp"
#include "hpo/trainer/trainer.hpp"
#include "settings.hpp"

namespace hpo::worker {
class Pool;
}

namespace hpo::tune {

/// Says that a device is too small for the study, and which would do: when the guard refuses random proposals without an exception.
/// Nothing where one fits, or nobody can predict it. One prediction where the first proposal fits, else at most half a minute.
[[nodiscard]] std::optional<std::string> nothing_fits(const Settings& settings, const TrainerInfo& info, worker::Pool& pool,
                                                      const registry::AnyMemoryGuard& guard, const std::string& device);

}  // namespace hpo::tune
