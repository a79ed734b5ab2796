// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include "hpo/core/seed.hpp"
#include "hpo/memory/allocation_trace.hpp"
#include "hpo/torch/attempt.hpp"
#include "hpo/torch/meta_autocast.hpp"
#include "hpo/torch/meta_device.hpp"
#include "hpo/torch/short_task.hpp"
#include "hpo/torch/trace_recorder.hpp"
#include "hpo/torch/training_loop.hpp"

namespace hpo::torch {

/// What a training of this task takes and gives back, from the model's building to its end: recorded while a ShortTask is trained on the
/// attempt's device. Throws what the training throws.
[[nodiscard]] inline memory::AllocationTrace trace_training(Task& task, const TrainingPlan& plan, Seed seed, RunningAttempt& attempt) {
    ShortTask shortened{task, plan, attempt.device()};
    Recording recording;
    static_cast<void>(train(shortened, shortened.plan(), seed, attempt));
    return recording.finish();
}

/// The same without computing anything: on the meta device, which stands in for `target`.
[[nodiscard]] inline memory::AllocationTrace dry_run(Task& task, const TrainingPlan& plan, Seed seed, MetaTarget target,
                                                     Progress& progress) {
    const MetaDevice device{target};
    const MetaAutocast autocast;
    const AttemptSettings settings{.device = ::torch::Device{::torch::kMeta}};
    RunningAttempt attempt{settings, progress};
    return trace_training(task, plan, seed, attempt);
}

}  // namespace hpo::torch
