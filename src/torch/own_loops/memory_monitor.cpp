// SPDX-License-Identifier: MIT
#include "hpo/torch/own_loops/memory_monitor.hpp"

#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "hpo/base/error.hpp"
#include "hpo/torch/memory_reading.hpp"
#include "hpo/torch/metered_allocator.hpp"

namespace hpo::libtorch::detail {

struct WatchedDevices {
    std::mutex mutex;
    std::set<std::string> names;
};
[[nodiscard]] WatchedDevices& watched_devices() {
    static WatchedDevices watched;
    return watched;
}
/// "cuda" is the device "cuda:0" to the allocator.
[[nodiscard]] std::string watched_name(c10::Device device) {
    return device.is_cuda() ? "cuda:" + std::to_string(device.index() < 0 ? 0 : device.index()) : "cpu";
}

}  // namespace hpo::libtorch::detail

namespace hpo::libtorch {

MemoryMonitor::MemoryMonitor(c10::Device device) : device_{device} {
    const std::string name = detail::watched_name(device);
    if (!device.is_cuda() && !MeteredAllocator::installed()) {
        throw Error{Errc::usage,
                    "MemoryMonitor: nothing counts the memory of the CPU; expected a call of MeteredAllocator::install() before the first "
                    "tensor"};
    }
#ifndef HPO_TORCH_CUDA
    if (device.is_cuda()) throw Error{Errc::no_device, "MemoryMonitor: hpo was built for a LibTorch without CUDA; expected the device cpu"};
#endif
    detail::WatchedDevices& watched = detail::watched_devices();
    {
        const std::lock_guard lock{watched.mutex};
        if (!watched.names.insert(name).second) {
            throw Error{Errc::usage, "MemoryMonitor: another monitor watches " + name +
                                         ", and an allocator keeps one peak only; expected one " + "monitor of a device at a time"};
        }
    }
    try {
        reset_peak_memory(device_);
        begin_ = read_memory(device_);
    } catch (...) {
        const std::lock_guard lock{watched.mutex};
        watched.names.erase(name);
        throw;
    }
}

MemoryMonitor::~MemoryMonitor() {
    detail::WatchedDevices& watched = detail::watched_devices();
    const std::lock_guard lock{watched.mutex};
    watched.names.erase(detail::watched_name(device_));
}

MonitoredMemory MemoryMonitor::use() const { return {begin_, read_memory(device_)}; }

}  // namespace hpo::libtorch
