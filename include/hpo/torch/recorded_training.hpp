// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/core/seed.hpp"
#include "hpo/memory/allocation_trace.hpp"
#include "hpo/torch/attempt.hpp"
#include "hpo/torch/short_task.hpp"

namespace hpo::torch {

/// A training on the attempt's device, and what it took and gave back there.
struct RecordedTraining {
    memory::AllocationTrace trace;
    AttemptOutcome outcome;
};

/// Trains a task and records that: on the CPU by the metered allocator, on CUDA by LibTorch's history of its own. Throws what the training
/// throws, and Error where this LibTorch keeps no history.
[[nodiscard]] RecordedTraining record_training(ShortTask task, Seed seed, RunningAttempt& attempt);

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/recorded_training_inl.hpp"
#endif
