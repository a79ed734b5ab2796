// SPDX-License-Identifier: MIT
#include "hpo/torch/training/prepared_model.hpp"

#include <torch/torch.h>
#include <memory>
#include <utility>

#include "hpo/base/error.hpp"
#include "hpo/torch/training/plan.hpp"

namespace hpo::libtorch {

void check_all_meta(const Model& model) {
    for (const auto& parameter : model.named_parameters()) {
        if (parameter.value().is_meta()) continue;
        throw Error{Errc::plugin, "parameter '" + parameter.key() + "' was not made by a factory of LibTorch: a dry run cannot have it"};
    }
}

PreparedModel prepare_model(Task& task, const TuningSettings& tuning, Seed seed, RunningAttempt& attempt) {
    attempt.enter("build");
    torch::manual_seed(weights_seed(seed));
    std::shared_ptr<Model> built = task.build();
    if (!built) throw Error{Errc::plugin, "the task built no model"};
    PreparedModel prepared{std::move(built), task.layers()};
    tune(*prepared.model, prepared.parts, tuning);
    if (attempt.device().is_meta()) check_all_meta(*prepared.model);
    else prepared.model->to(attempt.device());
    return prepared;
}

}  // namespace hpo::libtorch
