// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "hpo/allocator/allocation_trace.hpp"
#include "hpo/core/estimate.hpp"

namespace hpo::allocator {

/// The peak of a trace: when the requested sizes of live blocks add up to most.
struct TracePeak {
    std::int64_t bytes = 0;  ///< requested sizes
    std::size_t event = 0;   ///< the first event after which the sum is so high
};

/// Blocks of the scope `without` do not count. If it is empty, all blocks count. O(events).
[[nodiscard]] TracePeak requested_peak(const AllocationTrace& trace, std::string_view without = {});

/// What a block of device memory is for.
enum class TracePart : std::uint8_t { weights, gradients, optimizer, activations, workspace };

using TracePartNames = std::array<std::string_view, 5>;
inline constexpr TracePartNames trace_part_names{"weights", "gradients", "optimizer", "activations", "workspace"};

/// What each block of a trace is for. This follows from the phase that took it, and from whether it outlived that phase. O(events).
[[nodiscard]] std::vector<TracePart> parts_of_blocks(const AllocationTrace& trace);

/// The requested bytes of the blocks that are live after an event: weights, gradients, optimizer, activations, workspace, in that order.
/// O(events).
[[nodiscard]] std::vector<EstimatePart> parts_after(const AllocationTrace& trace, std::size_t event);

}  // namespace hpo::allocator
