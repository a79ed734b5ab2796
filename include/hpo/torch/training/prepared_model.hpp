// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hpo/core/seed.hpp"
#include "hpo/torch/adaptation/tuning.hpp"
#include "hpo/torch/attempt.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo::libtorch {

/// A model that is ready to be trained by a plan.
struct PreparedModel {
    std::shared_ptr<Model> model;
    std::vector<std::string> parts;  ///< Task::layers
};

/// Throws Error with the name of a parameter that is not on the meta device.
void check_all_meta(const Model& model);

/// The seed of LibTorch's generator before a model is built.
[[nodiscard]] inline std::uint64_t weights_seed(Seed seed) { return seed.derive("weights").value; }

/// Builds the task's model, decides which parameters learn, and moves it to the attempt's device.
[[nodiscard]] PreparedModel prepare_model(Task& task, const TuningSettings& tuning, Seed seed, RunningAttempt& attempt);

/// Reports a build that seeded LibTorch's generator, which it must leave alone. Call it right after prepare_model.
[[nodiscard]] inline std::vector<TrainerProblem> build_problems(Seed seed) {
    if (at::detail::getDefaultCPUGenerator().current_seed() == weights_seed(seed)) return {};
    return {{"build", "it seeds LibTorch's generator; expected that it leaves it alone, since the trial's seed was given to it before"}};
}

}  // namespace hpo::libtorch
