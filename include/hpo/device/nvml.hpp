// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <boost/dll/shared_library.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/device/nvidia_device.hpp"
#include "hpo/device/occupancy.hpp"

namespace hpo::device {

/// The driver's management library, loaded at run time: nothing is linked against it, and CUDA is not initialised.
/// Thread safety: as NVML's, every call is safe.
class Nvml {
public:
    /// Nothing where there is no driver, or none that answers.
    [[nodiscard]] static std::optional<Nvml> load(const std::string& file = "libnvidia-ml.so.1") {
        boost::dll::fs::error_code failed;
        boost::dll::shared_library library;
        library.load(file, boost::dll::load_mode::search_system_folders | boost::dll::load_mode::rtld_lazy, failed);
        if (failed || !library.has("nvmlInit_v2")) return std::nullopt;
        Nvml nvml{std::move(library)};
        if (nvml.call<int()>("nvmlInit_v2") != 0) return std::nullopt;
        return nvml;
    }

    [[nodiscard]] std::string driver_version() const {
        std::array<char, 96> text{};
        return call<int(char*, unsigned)>("nvmlSystemGetDriverVersion", text.data(), unsigned{text.size()}) == 0 ? text.data() : "unknown";
    }

    [[nodiscard]] std::vector<NvidiaDevice> devices() const {
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

    /// Who holds how much of a device; what the driver itself needs is no part of its capacity, where the driver tells the two apart (from
    /// 510 on). Processes outside this container have the host's ids, if they are told at all.
    [[nodiscard]] Occupancy occupancy(const NvidiaDevice& device) const {
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

private:
    /// nvmlProcessInfo_t, version 2 of the interface.
    struct Process {
        unsigned pid = 0;
        std::uint64_t bytes = 0;  ///< all ones: not known
        unsigned gpu_instance = 0;
        unsigned compute_instance = 0;
    };
    /// nvmlMemory_t, version 1 of the interface: three counts of bytes in this order.
    struct Memory {
        std::uint64_t total = 0;
        std::uint64_t free = 0;
        std::uint64_t used = 0;
    };
    /// nvmlMemory_t, version 2.
    struct MemoryAndReserve {
        unsigned version = 40U | 2U << 24U;  // the size of this, and 2
        std::uint64_t total = 0;
        std::uint64_t reserved = 0;
        std::uint64_t free = 0;
        std::uint64_t used = 0;
    };
    static constexpr int insufficient_size = 7;    // NVML_ERROR_INSUFFICIENT_SIZE
    static constexpr int function_not_found = 13;  // NVML_ERROR_FUNCTION_NOT_FOUND

    explicit Nvml(boost::dll::shared_library library) : library_{std::move(library)} {}

    template <class Signature, class... Arguments>
    [[nodiscard]] int call(const char* name, Arguments... arguments) const {
        return library_.has(name) ? library_.get<Signature>(name)(arguments...) : function_not_found;
    }

    boost::dll::shared_library library_;
};

}  // namespace hpo::device
