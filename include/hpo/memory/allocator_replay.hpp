// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "hpo/memory/allocation_trace.hpp"
#include "hpo/memory/allocator_settings.hpp"
#include "hpo/memory/caching_allocator.hpp"

namespace hpo::memory {

/// The request that a device could not serve, and what the allocator held then. All bytes.
struct RefusedRequest {
    std::size_t event = 0;
    std::size_t block = 0;  ///< index into AllocationTrace::blocks
    std::int64_t requested = 0;
    std::int64_t asked = 0;  ///< the segment that the device was asked for: what LibTorch's message calls the size
    std::int64_t allocated = 0;
    std::int64_t reserved = 0;
    friend bool operator==(const RefusedRequest&, const RefusedRequest&) = default;
};

/// What a caching allocator did with a trace, to its end or to the first request that it could not serve.
struct ReplayedTrace {
    AllocatorCounts counts;                        ///< at the end
    std::size_t allocated_peak_event = 0;          ///< the first after which so much was allocated
    std::size_t reserved_peak_event = 0;           ///< the first after which so much was reserved
    std::int64_t reserved_at_allocated_peak = 0;   ///< bytes, after that event
    std::optional<RefusedRequest> refused;         ///< nothing: every request was served
    std::int64_t same_from_bytes = 0;              ///< the device's capacities, from this one ...
    std::int64_t same_to_bytes = unlimited_bytes;  ///< ... to this one, with which all had gone the same way

    [[nodiscard]] bool survived() const { return !refused; }
    /// Share of what was reserved at the allocated peak that no live block held.
    [[nodiscard]] double fragmentation() const {
        if (reserved_at_allocated_peak == 0) return 0;
        return 1.0 - static_cast<double>(counts.allocated_peak) / static_cast<double>(reserved_at_allocated_peak);
    }
    friend bool operator==(const ReplayedTrace&, const ReplayedTrace&) = default;
};

/// Replays a trace through LibTorch's caching allocator. O(events * log(cached blocks)).
[[nodiscard]] ReplayedTrace simulate(const AllocationTrace& trace, const AllocatorSettings& settings, const AllocatorDevice& device = {});

}  // namespace hpo::memory

#ifndef HPO_COMPILED
#include "hpo/memory/impl/allocator_replay_inl.hpp"
#endif
