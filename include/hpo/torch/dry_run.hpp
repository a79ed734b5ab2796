// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/core/seed.hpp"
#include "hpo/memory/allocation_trace.hpp"
#include "hpo/torch/attempt.hpp"
#include "hpo/torch/doubt.hpp"
#include "hpo/torch/meta_factories.hpp"
#include "hpo/torch/short_task.hpp"
#include "hpo/torch/trace_recorder.hpp"

namespace hpo::torch {

/// What a training of this task takes and gives back, from the model's building to its end: recorded while it is trained on the attempt's
/// device. Throws what the training throws.
[[nodiscard]] memory::AllocationTrace trace_training(ShortTask task, Seed seed, Recorded recorded, RunningAttempt& attempt);

/// What a trace tells of its blocks.
enum class TraceDetail { phases, scopes };

/// What a training would take, and how far that can be relied on.
struct DryRun {
    memory::AllocationTrace trace;
    Doubt doubt;
};

/// The same of a whole task, without computing anything: on the meta device, which stands in for `target`. Throws also where the training
/// reads numbers, which are not there, and its memory may hang on them. Of an evaluation's reads that is found out by a second run, which
/// answers them differently.
[[nodiscard]] DryRun dry_run(Task& task, const TrainingPlan& plan, Seed seed, MetaTarget target, TraceDetail detail, Progress& progress);

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/dry_run_inl.hpp"
#endif
