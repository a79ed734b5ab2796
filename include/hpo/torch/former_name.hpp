// SPDX-License-Identifier: MIT
#pragma once

#include <torch/types.h>

namespace hpo::libtorch {}

/// The former name of hpo::libtorch. Plugins that say `hpo::torch::Task` still compile. LibTorch's own names are found in it, too. So
/// `torch::Tensor` is LibTorch's tensor, inside namespace hpo as well.
namespace hpo::torch {
using namespace hpo::libtorch;
using namespace ::torch;
}  // namespace hpo::torch
