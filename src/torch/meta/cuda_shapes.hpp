// SPDX-License-Identifier: MIT
#pragma once

#include <torch/library.h>

/// Kernels for the meta device if it stands in for CUDA, of operators that LibTorch gives a meta kernel in Python only and that the CPU's
/// dry run leaves to the probe. They say the shapes of results.
namespace hpo::libtorch::shapes_of_cuda {

/// Registers those that LibTorch lacks.
void add_to(torch::Library& kernels);

}  // namespace hpo::libtorch::shapes_of_cuda
