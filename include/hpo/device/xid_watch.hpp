// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "hpo/device/nvml.hpp"

namespace hpo::device {

/// Receives the Xids that NVIDIA's driver reports for one device (nvmlEventTypeXidCriticalError). The driver does not say which process met
/// them. If several come between two calls of `take`, NVML gives the latest number for each of them.
/// Thread safety: none.
class XidWatch {
public:
    /// Begins to watch a device. Earlier Xids are not told. Returns nullopt if the driver tells no events of the device. `nvml` must
    /// outlive the watch.
    [[nodiscard]] static std::optional<XidWatch> begin(const Nvml& nvml, const NvidiaDevice& device);

    XidWatch(XidWatch&& other) noexcept : nvml_{other.nvml_}, set_{std::exchange(other.set_, nullptr)} {}
    XidWatch& operator=(XidWatch&&) = delete;
    ~XidWatch();

    /// The numbers of the Xids since the last call, in the order in which they came. Waits at most `patience` for the first.
    [[nodiscard]] std::vector<int> take(std::chrono::milliseconds patience = {});

private:
    XidWatch(const Nvml& nvml, void* set) : nvml_{&nvml}, set_{set} {}

    const Nvml* nvml_;
    void* set_;  ///< nvmlEventSet_t
};

}  // namespace hpo::device
