// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hpo/allocator/allocation_trace.hpp"
#include "hpo/allocator/trace_peak.hpp"

namespace hpo::allocator {

/// The layers that a picture of a trace stacks: each block of the trace belongs to one.
struct TraceLayers {
    std::vector<std::string> names;       ///< from below
    std::vector<std::size_t> of_block{};  ///< for each block, an index into names
};

/// One layer for each part of training. `names` are what the parts are called. O(events).
[[nodiscard]] TraceLayers layers_by_part(const AllocationTrace& trace, const TracePartNames& names = trace_part_names);

/// One layer for each of the scopes that hold the most after `event`, the largest at the bottom, and a last one, "others", for the rest. At
/// most `most` layers, at least 1. O(events).
[[nodiscard]] TraceLayers layers_by_scope(const AllocationTrace& trace, std::size_t event, std::size_t most);

}  // namespace hpo::allocator
