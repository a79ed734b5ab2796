// SPDX-License-Identifier: MIT
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>

#include "hpo/core/memory_reading.hpp"

namespace hpo::libtorch {

#ifdef HPO_TORCH_CUDA
/// Starts CUDA in this process. Before that, LibTorch's caching allocator knows no device. Throws c10::Error if no GPU answers.
void initialise_cuda();

/// What a GPU's caching allocator holds, and how much memory the driver says is free.
[[nodiscard]] MemoryReading read_cuda_memory(c10::Device device);
#endif

/// The device's memory now, as this process's allocator counts it. Without the metered allocator the CPU's is not known.
[[nodiscard]] MemoryReading read_memory(c10::Device device);

/// Resets the peak to what is held now.
void reset_peak_memory(c10::Device device);

/// Caps what this process may take of the device. nullopt removes the cap.
void limit_memory(c10::Device device, std::optional<std::int64_t> cap_bytes);

/// Gives cached, unused memory back to the device. On a GPU this includes the workspaces that cuBLAS keeps for each thread. They belong to
/// LibTorch, and the next attempt takes its own. Call it only while no thread computes.
void release_cached_memory(c10::Device device);

}  // namespace hpo::libtorch
