// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "hpo/core/estimate.hpp"
#include "hpo/memory/allocation_trace.hpp"

namespace hpo::memory {

/// The moment when live blocks have asked for most.
struct TracePeak {
    std::int64_t bytes = 0;  ///< as asked for
    std::size_t event = 0;   ///< the last that had happened: the first one after which the sum was so high
};

/// Blocks of the scope `without` do not count; empty: all do. O(events).
[[nodiscard]] TracePeak requested_peak(const AllocationTrace& trace, std::string_view without = {});

/// What a block of device memory is for.
enum class TracePart : std::uint8_t { weights, gradients, optimizer, activations, workspace };

inline constexpr std::array<std::string_view, 5> trace_part_names{"weights", "gradients", "optimizer", "activations", "workspace"};

/// What each block of a trace is for, told by the phase that took it and by whether it outlived it. O(events).
[[nodiscard]] std::vector<TracePart> parts_of_blocks(const AllocationTrace& trace);

/// What the blocks that live after an event are for: weights, gradients, optimizer, activations, workspace, in that order. Their sum is
/// what live blocks have asked for. O(events).
[[nodiscard]] std::vector<EstimatePart> parts_after(const AllocationTrace& trace, std::size_t event);

}  // namespace hpo::memory

#ifndef HPO_COMPILED
#include "hpo/memory/impl/trace_peak_inl.hpp"
#endif
