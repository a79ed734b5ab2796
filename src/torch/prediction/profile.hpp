// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "hpo/core/profile.hpp"
#include "hpo/core/seed.hpp"
#include "hpo/torch/attempt.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/training/plan.hpp"

namespace hpo::libtorch {

/// The bytes that a forward pass over the first `examples` examples keeps for the backward pass, including the batch.
[[nodiscard]] std::int64_t measure_activations(const Task& task, Model& model, Precision precision, std::int64_t examples,
                                               RunningAttempt& attempt);

/// Measures a model: parameter counts, the optimizer's state from one step, activations from two small forward passes. The model is thrown
/// away.
[[nodiscard]] Profile measure_profile(Task& task, const TrainingPlan& plan, const Seed seed, RunningAttempt& attempt);

}  // namespace hpo::libtorch
