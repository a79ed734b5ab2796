// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/core/param_set.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/trainer/trainer.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::worker::inline supervisor {
class Pool;
}

namespace hpo::tune {

/// How much a real step may take that nobody asked for: one that is only made to see if it works.
struct RealStepBounds {
    std::int64_t bytes = 0;            ///< of host memory
    std::chrono::seconds seconds{20};  ///< for all steps together, but for the first
};
/// At most 4 GiB, and at most half of what the host has free.
[[nodiscard]] RealStepBounds real_step_bounds();

/// What the shapes of a proposal say before a real step is made of it.
struct ShapesAnswer {
    std::optional<std::int64_t> need_bytes;  ///< of a step of at most two examples; not set: nobody can predict it
    std::string cannot_run;                  ///< why it ends in an error on the device; empty: it is not known to
    std::string error;                       ///< of a training without numbers, where it is not a limit of such trainings; mostly empty
};
[[nodiscard]] ShapesAnswer look_at_shapes(worker::Pool& pool, const ParamSet& params, ExecutionPlan plan);

/// What the trainer says of proposals without a training.
struct TrainerLook {
    std::vector<std::string> problems;
    std::vector<std::string> remarks;
};

/// Where a look is made: `steps` for the real ones, `predictions` for the shapes. They differ if the device is not there.
struct LookDevices {
    std::string steps;
    std::string predictions;
};

/// Lets the trainer look at data, a batch, labels and a model under some proposals. Shapes come first, on a device that stores no numbers.
/// Then the smallest proposals make a real step each, within RealStepBounds. A remark names what was only looked at by its shapes. A
/// proposal that does not fit the study's memory is no mistake of the script, because guards refuse it. That none fits is.
[[nodiscard]] TrainerLook look_with_trainer(const Settings& settings, const TrainerInfo& info, const LookDevices& devices,
                                            const std::vector<ParamSet>& drawn);

}  // namespace hpo::tune
