// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "hpo/core/memory_reading.hpp"

namespace hpo::device {

/// How much of a device each process holds, at one moment.
struct Occupancy {
    std::int64_t capacity_bytes = 0;
    std::int64_t used_bytes = 0;
    std::vector<MemoryNeighbour> processes;  ///< those that hold memory, as far as they can be seen
};

}  // namespace hpo::device
