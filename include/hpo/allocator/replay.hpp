// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "hpo/allocator/allocation_trace.hpp"
#include "hpo/allocator/caching_allocator.hpp"
#include "hpo/allocator/settings.hpp"

namespace hpo::allocator {

/// The request that a device could not serve, and what the allocator held then. All in bytes.
struct RefusedRequest {
    std::size_t event = 0;
    std::size_t block = 0;  ///< index into AllocationTrace::blocks
    std::int64_t requested = 0;
    std::int64_t asked = 0;  ///< size of the segment requested from the device, which LibTorch's message gives
    std::int64_t allocated = 0;
    std::int64_t reserved = 0;
    friend bool operator==(const RefusedRequest&, const RefusedRequest&) = default;
};

/// The result of replaying a trace, to its end or to the first request that could not be served.
struct ReplayedTrace {
    AllocatorCounts counts;                        ///< at the end
    std::size_t allocated_peak_event = 0;          ///< first event after which the allocated peak was reached
    std::size_t reserved_peak_event = 0;           ///< first event after which the reserved peak was reached
    std::int64_t reserved_at_allocated_peak = 0;   ///< bytes reserved after allocated_peak_event
    std::optional<RefusedRequest> refused;         ///< nullopt: every request was served
    std::int64_t same_from_bytes = 0;              ///< least device capacity with which the replay would go the same way
    std::int64_t same_to_bytes = unlimited_bytes;  ///< largest such capacity

    [[nodiscard]] bool survived() const { return !refused; }
    /// The share of the reserved memory that no live block held at the allocated peak.
    [[nodiscard]] double fragmentation() const {
        if (reserved_at_allocated_peak == 0) return 0;
        return 1.0 - static_cast<double>(counts.allocated_peak) / static_cast<double>(reserved_at_allocated_peak);
    }
    friend bool operator==(const ReplayedTrace&, const ReplayedTrace&) = default;
};

/// Replays a trace through LibTorch's caching allocator. O(events * log(cached blocks)).
[[nodiscard]] ReplayedTrace simulate(const AllocationTrace& trace, const AllocatorSettings& settings, const AllocatorDevice& device = {});

}  // namespace hpo::allocator
