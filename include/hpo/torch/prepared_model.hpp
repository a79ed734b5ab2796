// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/core/seed.hpp"
#include "hpo/torch/attempt.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/training_plan.hpp"
#include "hpo/torch/tuning.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo::torch {

/// A model as a plan trains it.
struct PreparedModel {
    std::shared_ptr<Model> model;
    std::vector<std::string> parts;  ///< Task::layers
};

/// Throws Error naming a parameter that has numbers.
inline void check_all_meta(const Model& model) {
    for (const auto& parameter : model.named_parameters()) {
        if (parameter.value().is_meta()) continue;
        throw Error{Errc::plugin, "parameter '" + parameter.key() + "' was not made by a factory of LibTorch: a dry run cannot have it"};
    }
}

/// What LibTorch's generator is seeded with before a model is built.
[[nodiscard]] inline std::uint64_t weights_seed(Seed seed) { return seed.derive("weights").value; }

/// Builds the task's model, decides what of it learns, and puts it on the attempt's device.
[[nodiscard]] inline PreparedModel prepare_model(Task& task, const TuningSettings& tuning, Seed seed, RunningAttempt& attempt) {
    attempt.enter("build");
    ::torch::manual_seed(weights_seed(seed));
    std::shared_ptr<Model> built = task.build();
    if (!built) throw Error{Errc::plugin, "the task built no model"};
    PreparedModel prepared{std::move(built), task.layers()};
    tune(*prepared.model, prepared.parts, tuning);
    if (attempt.device().is_meta()) check_all_meta(*prepared.model);
    else prepared.model->to(attempt.device());
    return prepared;
}

/// What a build did wrong, right after prepare_model: seeding LibTorch's generator.
[[nodiscard]] inline std::vector<TrainerProblem> build_problems(Seed seed) {
    if (at::detail::getDefaultCPUGenerator().current_seed() == weights_seed(seed)) return {};
    return {{"build", "it seeds LibTorch's generator; expected that it leaves it alone, since the trial's seed was given to it before"}};
}

}  // namespace hpo::torch
