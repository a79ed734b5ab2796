// SPDX-License-Identifier: MIT
#include "hpo/device/nvml.hpp"

#include <array>
#include <boost/dll/shared_library.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hpo::device {

std::optional<Nvml> Nvml::load(const std::string& file) {
    boost::dll::fs::error_code failed;
    boost::dll::shared_library library;
    library.load(file, boost::dll::load_mode::search_system_folders | boost::dll::load_mode::rtld_lazy, failed);
    if (failed || !library.has("nvmlInit_v2")) return std::nullopt;
    Nvml nvml{std::move(library)};
    if (nvml.call<int()>("nvmlInit_v2") != 0) return std::nullopt;
    return nvml;
}

std::vector<NvidiaDevice> Nvml::devices() const {
    std::vector<NvidiaDevice> found;
    unsigned count = 0;
    if (call<int(unsigned*)>("nvmlDeviceGetCount_v2", &count) != 0) return found;
    for (unsigned index = 0; index < count; ++index) {
        void* handle = nullptr;
        if (call<int(unsigned, void**)>("nvmlDeviceGetHandleByIndex_v2", index, &handle) != 0) continue;
        NvidiaDevice device{.index = index, .name = {}, .uuid = {}, .compute_capability = {}};
        std::array<char, 96> text{};
        if (call<int(void*, char*, unsigned)>("nvmlDeviceGetName", handle, text.data(), unsigned{text.size()}) == 0)
            device.name = text.data();
        if (call<int(void*, char*, unsigned)>("nvmlDeviceGetUUID", handle, text.data(), unsigned{text.size()}) == 0)
            device.uuid = text.data();
        Memory memory;
        if (call<int(void*, Memory*)>("nvmlDeviceGetMemoryInfo", handle, &memory) == 0) {
            device.total_bytes = static_cast<std::int64_t>(memory.total);
            device.free_bytes = static_cast<std::int64_t>(memory.free);
        }
        int major = 0;
        int minor = 0;
        if (call<int(void*, int*, int*)>("nvmlDeviceGetCudaComputeCapability", handle, &major, &minor) == 0)
            device.compute_capability = std::to_string(major) + "." + std::to_string(minor);
        found.push_back(std::move(device));
    }
    return found;
}

Occupancy Nvml::occupancy(const NvidiaDevice& device) const {
    Occupancy occupancy{device.total_bytes, device.total_bytes - device.free_bytes, {}};
    void* handle = nullptr;
    if (call<int(unsigned, void**)>("nvmlDeviceGetHandleByIndex_v2", device.index, &handle) != 0) return occupancy;
    MemoryAndReserve memory;
    if (call<int(void*, MemoryAndReserve*)>("nvmlDeviceGetMemoryInfo_v2", handle, &memory) == 0) {
        occupancy.capacity_bytes = static_cast<std::int64_t>(memory.total - memory.reserved);
        occupancy.used_bytes = occupancy.capacity_bytes - static_cast<std::int64_t>(memory.free);
    }
    std::vector<Process> processes(64);
    for (int attempt = 0; attempt < 4; ++attempt, processes.resize(4 * processes.size())) {
        auto count = static_cast<unsigned>(processes.size());
        const int status =
            call<int(void*, unsigned*, Process*)>("nvmlDeviceGetComputeRunningProcesses_v3", handle, &count, processes.data());
        if (status == insufficient_size) continue;
        for (unsigned i = 0; status == 0 && i < count; ++i) {
            const bool known = processes[i].bytes != std::numeric_limits<std::uint64_t>::max();
            occupancy.processes.push_back({processes[i].pid, known ? static_cast<std::int64_t>(processes[i].bytes) : 0});
        }
        break;
    }
    return occupancy;
}

}  // namespace hpo::device
