// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hpo/core/seed.hpp"
#include "hpo/torch/attempt.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/tuning.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo::torch {

/// A model as a plan trains it.
struct PreparedModel {
    std::shared_ptr<Model> model;
    std::vector<std::string> parts;  ///< Task::layers
};

/// Throws Error naming a parameter that has numbers.
void check_all_meta(const Model& model);

/// What LibTorch's generator is seeded with before a model is built.
[[nodiscard]] inline std::uint64_t weights_seed(Seed seed) { return seed.derive("weights").value; }

/// Builds the task's model, decides what of it learns, and puts it on the attempt's device.
[[nodiscard]] PreparedModel prepare_model(Task& task, const TuningSettings& tuning, Seed seed, RunningAttempt& attempt);

/// What a build did wrong, right after prepare_model: seeding LibTorch's generator.
[[nodiscard]] inline std::vector<TrainerProblem> build_problems(Seed seed) {
    if (at::detail::getDefaultCPUGenerator().current_seed() == weights_seed(seed)) return {};
    return {{"build", "it seeds LibTorch's generator; expected that it leaves it alone, since the trial's seed was given to it before"}};
}

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/prepared_model_inl.hpp"
#endif
