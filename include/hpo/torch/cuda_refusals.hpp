// SPDX-License-Identifier: MIT
#pragma once

#ifdef HPO_TORCH_CUDA

#include <optional>

#include "hpo/core/memory_reading.hpp"

namespace hpo::libtorch {

/// From now on it is noted what a GPU's caching allocator holds when it refuses a request. Call it after CUDA was started; more calls do
/// nothing. Afterwards is too late for a reading: by then the exception has freed what the attempt held.
void watch_cuda_refusals();

/// The device's memory at the last refusal since this was last called. nullopt: nothing was refused. Thread-safe.
[[nodiscard]] std::optional<MemoryReading> take_cuda_refusal();

}  // namespace hpo::libtorch

#endif
