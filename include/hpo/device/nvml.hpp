// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <boost/dll/shared_library.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/device/nvidia_device.hpp"
#include "hpo/device/occupancy.hpp"

namespace hpo::device {

class XidWatch;

/// The driver's management library, loaded at run time. The program is not linked against it, and CUDA is not initialised.
/// Thread safety: every call is safe, as in NVML.
class Nvml {
public:
    /// Returns nullopt if there is no driver, or if it does not answer.
    [[nodiscard]] static std::optional<Nvml> load(const std::string& file = "libnvidia-ml.so.1");

    [[nodiscard]] std::string driver_version() const {
        std::array<char, 96> text{};
        return call<int(char*, unsigned)>("nvmlSystemGetDriverVersion", text.data(), unsigned{text.size()}) == 0 ? text.data() : "unknown";
    }

    [[nodiscard]] std::vector<NvidiaDevice> devices() const;

    /// How much of a device each process holds. The driver's own memory does not count as capacity, if the driver tells the two apart (from
    /// 510 on). Processes outside of this container have the host's ids, if the driver shows them at all.
    [[nodiscard]] Occupancy occupancy(const NvidiaDevice& device) const;

private:
    friend class XidWatch;

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
