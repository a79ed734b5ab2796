// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include "hpo/base/error.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/training/step.hpp"

namespace hpo::libtorch {

/// A task that makes its own training steps, with several optimizers, losses or passes. loss_sum is then not called. Besides the model,
/// training_step may change no state: a checkpoint would not keep it.
class OwnStepTask : public Task {
public:
    [[nodiscard]] bool has_own_step() const final { return true; }
    [[nodiscard]] double training_step(TrainingStep& step) const override = 0;
    [[nodiscard]] torch::Tensor loss_sum(const Outputs& /*outputs*/, const Batch& /*batch*/) const final {
        throw Error{Errc::plugin, "a task with a training step of its own has no loss_sum"};
    }
};

}  // namespace hpo::libtorch
