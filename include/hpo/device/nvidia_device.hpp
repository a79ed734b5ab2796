// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace hpo::device {

/// An NVIDIA device as the driver describes it.
struct NvidiaDevice {
    unsigned index = 0;  ///< in the driver's order, which is by PCI bus
    std::string name;
    std::string uuid;
    std::int64_t total_bytes = 0;  ///< 0: at most the uuid is known
    std::int64_t free_bytes = 0;
    std::string compute_capability;  ///< "9.0"; empty: the driver does not say
    [[nodiscard]] bool is_known() const { return total_bytes > 0; }
};

}  // namespace hpo::device
