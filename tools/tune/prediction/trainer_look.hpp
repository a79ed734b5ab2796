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

namespace hpo::worker {
class Pool;
}

namespace hpo::tune {

/// How much of the host's memory a real step may take that nobody asked for, and that is only made to see if it works: at most 4 GiB, and
/// at most half of what is free.
[[nodiscard]] std::int64_t most_real_step_bytes();

/// What the shapes of a proposal say before a real step is made of it.
struct ShapesAnswer {
    std::optional<std::int64_t> need_bytes;  ///< of a step of at most two examples; not set: nobody can predict it
    std::string cannot_run;                  ///< why it ends in an error on the device; empty: it is not known to
    std::string error;                       ///< of a training without numbers, where it is not a limit of such trainings; mostly empty
    bool looked = false;                     ///< the trainer has answered
};
[[nodiscard]] ShapesAnswer look_at_shapes(worker::Pool& pool, const ParamSet& params, ExecutionPlan plan);

/// How long `look_with_trainer` looks at shapes, and how long it makes real steps after the first.
inline constexpr std::chrono::seconds look_seconds{20};

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
/// Then the smallest proposals make a real step each, within most_real_step_bytes and look_seconds. A remark names what was only looked at
/// by its shapes, or not at all. A proposal that does not fit the study's memory is no mistake of the script, because guards refuse it.
/// That none fits is.
[[nodiscard]] TrainerLook look_with_trainer(const Settings& settings, const TrainerInfo& info, const LookDevices& devices,
                                            const std::vector<ParamSet>& drawn);

}  // namespace hpo::tune
