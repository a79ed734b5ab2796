// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hpo/core/param_set.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo::tune {

/// What a foreground attempt is told and how its result is written.
struct ForegroundOptions {
    std::optional<std::int64_t> budget_bytes;  ///< of the device, for the cause of a memory failure
    bool json = false;                         ///< one document on standard output; what the trainer prints goes to standard error
    bool verbose = false;                      ///< C++ stack frames, too
    std::function<void(const AttemptOutcome&)> completed{};  ///< called once the attempt is complete, before that is said; may throw Error
    std::string model{};                                     ///< where `completed` has put the model; empty: nowhere
    std::vector<std::string> plugin_dirs{};                  ///< for the command that measures the model again
};

/// Runs one attempt in this process, and says what the trainer tells and how it ended. Returns the exit status: 0, or 1 if a study would
/// call the trial failed. If the trainer ends the process itself, this does not return. That is such a failure, too.
[[nodiscard]] int run_in_foreground(Trainer& trainer, const TrainerJob& job, const ParamSet& params, const ForegroundOptions& options);

}  // namespace hpo::tune
