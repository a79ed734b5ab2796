// SPDX-License-Identifier: MIT
#include "hpo/torch/cuda_refusals.hpp"

#ifdef HPO_TORCH_CUDA

#include <c10/core/Device.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "hpo/torch/memory_reading.hpp"

namespace hpo::libtorch {

namespace detail {

struct LastRefusal {
    std::mutex mutex;
    std::optional<MemoryReading> reading;
};
[[nodiscard]] LastRefusal& last_cuda_refusal() {
    static LastRefusal last;
    return last;
}

}  // namespace detail

void watch_cuda_refusals() {
    static std::once_flag once;
    std::call_once(once, [] {
        // LibTorch calls it between the refusal and the exception, without a lock.
        c10::cuda::CUDACachingAllocator::attachOutOfMemoryObserver([](std::int64_t device, std::size_t, std::size_t, std::size_t) {
            const MemoryReading reading = read_cuda_memory({c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(device)});
            detail::LastRefusal& last = detail::last_cuda_refusal();
            const std::lock_guard lock{last.mutex};
            last.reading = reading;
        });
    });
}

std::optional<MemoryReading> take_cuda_refusal() {
    detail::LastRefusal& last = detail::last_cuda_refusal();
    const std::lock_guard lock{last.mutex};
    return std::exchange(last.reading, std::nullopt);
}

}  // namespace hpo::libtorch

#endif
