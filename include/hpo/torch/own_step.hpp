// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include "hpo/core/error.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/training_step.hpp"

namespace hpo::torch {

/// A task that makes its training steps itself: two optimizers, several losses, several passes. loss_sum is not asked. What training_step
/// changes besides the model is lost in a checkpoint, so it changes nothing else.
class OwnStepTask : public Task {
public:
    [[nodiscard]] bool has_own_step() const final { return true; }
    [[nodiscard]] double training_step(TrainingStep& step) const override = 0;
    [[nodiscard]] ::torch::Tensor loss_sum(const Outputs& /*outputs*/, const Batch& /*batch*/) const final {
        throw Error{Errc::plugin, "a task with a training step of its own has no loss_sum"};
    }
};

}  // namespace hpo::torch
