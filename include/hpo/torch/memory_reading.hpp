// SPDX-License-Identifier: MIT
#pragma once

#include <c10/core/Device.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "hpo/core/memory_reading.hpp"
#include "hpo/torch/metered_allocator.hpp"

#ifdef HPO_TORCH_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>
#endif

namespace hpo::torch {

#ifdef HPO_TORCH_CUDA
/// What the caching allocator of a GPU holds, and what its driver says is free.
[[nodiscard]] inline MemoryReading read_cuda_memory(c10::Device device) {
    const c10::cuda::CUDAGuard guard{device};
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(std::max<c10::DeviceIndex>(device.index(), 0));
    MemoryReading reading;
    reading.allocated = stats.allocated_bytes[0].current;  // index 0: small and large pool together
    reading.reserved = stats.reserved_bytes[0].current;
    reading.peak_allocated = stats.allocated_bytes[0].peak;
    reading.peak_reserved = stats.reserved_bytes[0].peak;
    std::size_t free = 0;
    std::size_t total = 0;
    if (cudaMemGetInfo(&free, &total) == cudaSuccess) {
        reading.free = static_cast<std::int64_t>(free);
        reading.capacity = static_cast<std::int64_t>(total);
    }
    return reading;
}
#endif

/// The device's memory now, as this process's allocator counts it.
[[nodiscard]] inline MemoryReading read_memory(c10::Device device) {
#ifdef HPO_TORCH_CUDA
    if (device.is_cuda()) return read_cuda_memory(device);
#endif
    static_cast<void>(device);
    return MeteredAllocator::instance().reading();
}

/// Forgets the peak: from now on the highest of what is held from now on.
inline void reset_peak_memory(c10::Device device) {
#ifdef HPO_TORCH_CUDA
    if (device.is_cuda()) {
        c10::cuda::CUDACachingAllocator::resetPeakStats(std::max<c10::DeviceIndex>(device.index(), 0));
        return;
    }
#endif
    static_cast<void>(device);
    MeteredAllocator::instance().reset_peak();
}

/// Caps what this process may take of the device; nothing: no cap.
inline void limit_memory(c10::Device device, std::optional<std::int64_t> cap_bytes) {
#ifdef HPO_TORCH_CUDA
    if (device.is_cuda()) {
        const double total = static_cast<double>(read_cuda_memory(device).capacity.value_or(0));
        const double share = cap_bytes && total > 0 ? std::min(1.0, static_cast<double>(*cap_bytes) / total) : 1.0;
        c10::cuda::CUDACachingAllocator::setMemoryFraction(share, std::max<c10::DeviceIndex>(device.index(), 0));
        MeteredAllocator::instance().set_cap(std::nullopt);
        return;
    }
#endif
    static_cast<void>(device);
    MeteredAllocator::instance().set_cap(cap_bytes);
}

/// Gives cached, unused memory back to the device.
inline void release_cached_memory(c10::Device device) {
#ifdef HPO_TORCH_CUDA
    if (device.is_cuda()) {
        c10::cuda::CUDACachingAllocator::emptyCache();
        return;
    }
#endif
    static_cast<void>(device);
    MeteredAllocator::release_cache();
}

}  // namespace hpo::torch
