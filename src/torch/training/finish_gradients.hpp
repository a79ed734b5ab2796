// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/torch/training/loss_scale.hpp"
#include "hpo/torch/training/optimizer.hpp"

namespace hpo::libtorch {

/// The norm of all gradients together.
[[nodiscard]] double gradient_norm(Optimizer& optimizer);

/// Removes the loss scale from the step's gradients and clips their joint norm to `clip_norm` (Pascanu et al. 2013). 0 means no clipping.
/// Returns false if the gradients are not finite under this loss scale: the step must then be left out. Throws NonFiniteLoss if no loss
/// scale is in use.
[[nodiscard]] bool finish_gradients(Optimizer& optimizer, LossScale& scale, double clip_norm);

}  // namespace hpo::libtorch
