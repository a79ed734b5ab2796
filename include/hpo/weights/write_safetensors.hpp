// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "hpo/weights/tensor.hpp"

namespace hpo::weights {

/// Writes a safetensors file: the same tensors and metadata give the same bytes. Readers see the old file or the whole new
/// one. Widest elements come first, then by name, so that every tensor is aligned. Throws Error for a tensor whose bytes do not fit its
/// shape, a name that is not UTF-8 or reserved, and when the file cannot be written.
void write_safetensors(const std::filesystem::path& file, const TensorMap& tensors, const Metadata& metadata = {});

}  // namespace hpo::weights

#ifndef HPO_COMPILED
#include "hpo/weights/impl/write_safetensors_inl.hpp"
#endif
