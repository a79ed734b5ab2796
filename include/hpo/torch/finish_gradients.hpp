// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/torch/loss_scale.hpp"
#include "hpo/torch/optimizer.hpp"

namespace hpo::torch {

/// The norm of all gradients together.
[[nodiscard]] double gradient_norm(Optimizer& optimizer);

/// Makes the step's gradients those of the loss itself, and no longer than `clip_norm` all together (Pascanu et al. 2013; 0: any length).
/// False: they are not finite under this loss scale, and the step must be left out. Throws NonFiniteLoss where there is no scale to
/// blame.
[[nodiscard]] bool finish_gradients(Optimizer& optimizer, LossScale& scale, double clip_norm);

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/finish_gradients_inl.hpp"
#endif
