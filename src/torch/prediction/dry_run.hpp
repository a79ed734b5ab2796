// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/allocator/allocation_trace.hpp"
#include "hpo/core/seed.hpp"
#include "hpo/torch/attempt.hpp"
#include "hpo/torch/recording/trace_recorder.hpp"
#include "torch/meta/card.hpp"
#include "torch/meta/factories.hpp"
#include "torch/prediction/short_task.hpp"
#include "torch/recording/doubt.hpp"

namespace hpo::libtorch {

/// Trains a task on the attempt's device and records what it takes and gives back, from the model's building to the end. Throws what the
/// training throws.
[[nodiscard]] allocator::AllocationTrace trace_training(ShortTask task, Seed seed, Recorded recorded, RunningAttempt& attempt);

/// What a trace says about its blocks.
enum class TraceDetail { phases, scopes };

/// What a training would take, and how reliable that is.
struct DryRun {
    allocator::AllocationTrace trace;
    Doubt doubt;
};

/// What a dry run stands in for. The card matters only for CUDA.
struct DryRunDevice {
    MetaTarget target = MetaTarget::cpu;
    Card card{};
};

/// Throws Error if a training did not come to its end.
void require_whole_training(const AttemptOutcome& outcome);

/// Records a whole task without computing: on the meta device, which stands in for `device`. Throws also if the training reads numbers from
/// tensors, since meta tensors have none and the training's memory may depend on them. Reads in an evaluation are allowed. A second run
/// then answers them differently, and must take the same memory.
[[nodiscard]] DryRun dry_run(Task& task, const TrainingPlan& plan, Seed seed, const DryRunDevice& device, TraceDetail detail,
                             Progress& progress);

}  // namespace hpo::libtorch
