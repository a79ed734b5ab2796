// SPDX-License-Identifier: MIT
#include "hpo/torch/memory_reading.hpp"

#include <c10/core/Device.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "hpo/torch/metered_allocator.hpp"

#ifdef HPO_TORCH_CUDA
#include <ATen/Context.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>
#include <torch/version.h>
#endif

namespace hpo::libtorch {

#ifdef HPO_TORCH_CUDA
void initialise_cuda() {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 6)
    at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
#else
    at::globalContext().lazyInitCUDA();
#endif
}

MemoryReading read_cuda_memory(c10::Device device) {
    initialise_cuda();
    const c10::cuda::CUDAGuard guard{device};
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(std::max<c10::DeviceIndex>(device.index(), 0));
    MemoryReading reading;
    reading.allocated = stats.allocated_bytes[0].current;  // index 0: the small and the large pool together
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

MemoryReading read_memory(c10::Device device) {
#ifdef HPO_TORCH_CUDA
    if (device.is_cuda()) return read_cuda_memory(device);
#endif
    static_cast<void>(device);
    return MeteredAllocator::installed() ? MeteredAllocator::instance().reading() : MemoryReading{};
}

void reset_peak_memory(c10::Device device) {
#ifdef HPO_TORCH_CUDA
    if (device.is_cuda()) {
        initialise_cuda();
        c10::cuda::CUDACachingAllocator::resetPeakStats(std::max<c10::DeviceIndex>(device.index(), 0));
        return;
    }
#endif
    static_cast<void>(device);
    MeteredAllocator::instance().reset_peak();
}

void limit_memory(c10::Device device, std::optional<std::int64_t> cap_bytes) {
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

void release_cached_memory(c10::Device device) {
#ifdef HPO_TORCH_CUDA
    if (device.is_cuda()) {
        at::cuda::clearCublasWorkspaces();
        c10::cuda::CUDACachingAllocator::emptyCache();
        return;
    }
#endif
    static_cast<void>(device);
    MeteredAllocator::release_cache();
}

}  // namespace hpo::libtorch
