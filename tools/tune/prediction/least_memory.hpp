// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "hpo/core/history.hpp"
#include "hpo/registry/any_memory_guard.hpp"
#include "hpo/trainer/trainer.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::worker {
class Pool;
}

namespace hpo::tune {

/// Says that a device is too small for the study, and which would do: when the guard refuses random proposals without an exception.
/// Nothing where one fits, nobody can predict it, or a minute was not enough to look at 500. One prediction where the first proposal fits.
struct FitQuestion {
    std::string device;
    std::int64_t capacity_bytes = 0;
    History history{};                               ///< that the guard may have learned from
    std::function<void(const std::string&)> note{};  ///< told every few seconds how far it is
    std::function<bool()> stop_requested{};          ///< asked before each proposal; Error{interrupted} is thrown if it says so
};
[[nodiscard]] std::optional<std::string> nothing_fits(const Settings& settings, const TrainerInfo& info, worker::Pool& pool,
                                                      const registry::AnyMemoryGuard& guard, const FitQuestion& question);

/// Says how many of the proposals do not fit the device even in the smallest micro-batch, as the guard predicts. Empty if all of those fit
/// that half a minute is enough for, or if nobody can predict it.
[[nodiscard]] std::string share_refused(const Settings& settings, const TrainerInfo& info, worker::Pool& pool,
                                        const registry::AnyMemoryGuard& guard, const FitQuestion& question,
                                        const std::vector<ParamSet>& proposals);

}  // namespace hpo::tune
