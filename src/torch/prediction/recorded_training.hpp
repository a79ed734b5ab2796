// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/allocator/allocation_trace.hpp"
#include "hpo/core/seed.hpp"
#include "hpo/torch/attempt.hpp"
#include "torch/prediction/short_task.hpp"

namespace hpo::libtorch {

/// A training on the attempt's device, with the trace of its memory.
struct RecordedTraining {
    allocator::AllocationTrace trace;
    AttemptOutcome outcome;
};

/// Trains a task and records its memory. The metered allocator records it on the CPU, and LibTorch's own history on CUDA. Throws what the
/// training throws, and Error if this LibTorch keeps no history.
[[nodiscard]] RecordedTraining record_training(ShortTask task, Seed seed, RunningAttempt& attempt);

}  // namespace hpo::libtorch
