// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/trainer/trainer.hpp"
#include "torch/meta/card.hpp"

namespace hpo::libtorch {

/// The card that a job's dry run stands for. If the job's cuBLAS workspace is Hopper's, and no Hopper is there, it is an H100. Otherwise,
/// if this LibTorch is for CUDA and the card is there, the driver tells it, which takes none of its memory. In all other cases it is an
/// A100.
[[nodiscard]] Card predicted_card(const TrainerJob& job);

}  // namespace hpo::libtorch
