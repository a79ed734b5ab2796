// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "hpo/core/profile.hpp"
#include "hpo/core/seed.hpp"
#include "hpo/torch/attempt.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/training_plan.hpp"

namespace hpo::torch {

/// Bytes that a forward pass over the first `examples` examples leaves for the backward pass, the batch included.
[[nodiscard]] std::int64_t measure_activations(const Task& task, Model& model, Precision precision, std::int64_t examples,
                                               RunningAttempt& attempt);

/// The model's shape, measured: counts from its parameters, the optimizer's state from one step, activations from two
/// small forward passes. Nothing of it trains; the step is one of a throw-away model.
[[nodiscard]] Profile measure_profile(Task& task, const TrainingPlan& plan, const Seed seed, RunningAttempt& attempt);

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/profile_inl.hpp"
#endif
