// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "hpo/weights/tensor.hpp"

namespace hpo::weights {

/// Writes a safetensors file. The same tensors and metadata give the same bytes. Readers see either the old file or the whole new one.
/// Tensors with the widest elements come first, then they are sorted by name, so that every tensor is aligned. Throws Error if the bytes of
/// a tensor do not fit its shape, if a name is reserved or not UTF-8, or if the file cannot be written.
void write_safetensors(const std::filesystem::path& file, const TensorMap& tensors, const Metadata& metadata = {});

}  // namespace hpo::weights
