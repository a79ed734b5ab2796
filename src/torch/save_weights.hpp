// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <filesystem>

#include "hpo/weights/dtype.hpp"

namespace hpo::libtorch {

/// The stored type of a LibTorch type. Throws Error for a type that a file cannot hold. load_weights.hpp has the inverse.
[[nodiscard]] weights::Dtype stored_dtype(torch::ScalarType type);

/// Writes each parameter and buffer of a module under its name. load_weights reads them. The copies lie on the host, outside the meter.
/// Throws Error if the file cannot be written.
void save_weights(const torch::nn::Module& module, const std::filesystem::path& file);

}  // namespace hpo::libtorch
