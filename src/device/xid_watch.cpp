// SPDX-License-Identifier: MIT
#include "hpo/device/xid_watch.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace hpo::device {

/// nvmlEventData_t.
struct NvmlEvent {
    void* device = nullptr;
    unsigned long long type = 0;
    unsigned long long data = 0;  ///< of an Xid: its number
    unsigned gpu_instance = 0;
    unsigned compute_instance = 0;
};
inline constexpr unsigned long long nvml_xid_event = 8;  // nvmlEventTypeXidCriticalError

std::optional<XidWatch> XidWatch::begin(const Nvml& nvml, const NvidiaDevice& device) {
    void* handle = nullptr;
    if (nvml.call<int(unsigned, void**)>("nvmlDeviceGetHandleByIndex_v2", device.index, &handle) != 0) return std::nullopt;
    void* set = nullptr;
    if (nvml.call<int(void**)>("nvmlEventSetCreate", &set) != 0) return std::nullopt;
    XidWatch watch{nvml, set};
    if (nvml.call<int(void*, unsigned long long, void*)>("nvmlDeviceRegisterEvents", handle, nvml_xid_event, set) != 0) return std::nullopt;
    return watch;
}

XidWatch::~XidWatch() {
    if (set_) static_cast<void>(nvml_->call<int(void*)>("nvmlEventSetFree", set_));
}

std::vector<int> XidWatch::take(std::chrono::milliseconds patience) {
    constexpr std::size_t most = 1000;  // a device that reports without end does not keep us
    std::vector<int> xids;
    for (std::size_t events = 0; events < most; ++events) {
        NvmlEvent event;
        const auto wait = static_cast<unsigned>(events == 0 ? patience.count() : 0);
        if (nvml_->call<int(void*, NvmlEvent*, unsigned)>("nvmlEventSetWait_v2", set_, &event, wait) != 0) break;
        if (event.type == nvml_xid_event && event.data <= 10'000) xids.push_back(static_cast<int>(event.data));
    }
    return xids;
}

}  // namespace hpo::device
