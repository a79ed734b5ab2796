// SPDX-License-Identifier: MIT
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>

#include "hpo/core/memory_reading.hpp"

namespace hpo::torch {

#ifdef HPO_TORCH_CUDA
/// Starts CUDA in this process. LibTorch's caching allocator knows no device before. Throws c10::Error where no GPU answers.
void initialise_cuda();

/// What the caching allocator of a GPU holds, and what its driver says is free.
[[nodiscard]] MemoryReading read_cuda_memory(c10::Device device);
#endif

/// The device's memory now, as this process's allocator counts it.
[[nodiscard]] MemoryReading read_memory(c10::Device device);

/// Forgets the peak: from now on the highest of what is held from now on.
void reset_peak_memory(c10::Device device);

/// Caps what this process may take of the device; nothing: no cap.
void limit_memory(c10::Device device, std::optional<std::int64_t> cap_bytes);

/// Gives back to the device what is cached and unused. On a GPU also the workspaces that cuBLAS keeps for each thread that computed: they
/// are LibTorch's, and the next attempt takes its own. Nothing may compute meanwhile.
void release_cached_memory(c10::Device device);

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/memory_reading_inl.hpp"
#endif
