// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <filesystem>

#include "hpo/weights/dtype.hpp"

namespace hpo::torch {

/// The stored type of LibTorch's; throws Error for one that a file cannot hold. The other way: load_weights.hpp.
[[nodiscard]] weights::Dtype stored_dtype(::torch::ScalarType type);

/// Writes every parameter and buffer of a module by its name; load_weights reads them. The copies that this takes lie on the host, outside
/// the meter. Throws Error when the file cannot be written.
void save_weights(const ::torch::nn::Module& module, const std::filesystem::path& file);

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/save_weights_inl.hpp"
#endif
