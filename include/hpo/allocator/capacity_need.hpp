// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "hpo/allocator/allocation_trace.hpp"
#include "hpo/allocator/replay.hpp"
#include "hpo/allocator/settings.hpp"

namespace hpo::allocator {

/// How large a device must be for a trace, in bytes. Includes memory outside the allocator.
struct CapacityNeed {
    std::int64_t need = 0;     ///< least capacity that serves every request, as does any up to 64 MiB more
    std::int64_t comfort = 0;  ///< the same, but without a retry
    ReplayedTrace unlimited;   ///< the replay on a device that never refuses
    int replays = 0;           ///< number of replays in the search
};

/// Searches for the capacities that a trace's replay survives. A replay that survives with some capacity may fail with more: at a lower
/// limit, cached blocks are given back before they are split up. So the search bisects and then checks larger capacities. Exact without
/// a memory fraction, and exact to 2 MiB with one or where an expandable segment fills up.
class CapacitySearch {
public:
    CapacitySearch(const AllocationTrace& trace, const AllocatorSettings& settings, std::int64_t outside_bytes)
        : trace_{trace}, settings_{settings}, outside_bytes_{outside_bytes} {}

    [[nodiscard]] CapacityNeed find();

private:
    static constexpr std::int64_t step_bytes = own_segment_step_bytes;
    static constexpr std::int64_t verified_bytes = 64 << 20;
    struct Bounds {
        std::int64_t floor = 0;   ///< smaller capacities are not tried
        std::int64_t enough = 0;  ///< first capacity to try; doubled until it is enough
    };
    /// How the replay ends with any capacity of a range.
    struct Tried {
        std::int64_t from = 0;
        std::int64_t to = 0;
        bool survived = false;
        std::int64_t retries = 0;
    };

    template <class Wanted>
    [[nodiscard]] std::int64_t least(Bounds bounds, const Wanted& wanted);
    [[nodiscard]] std::int64_t on_grid(std::int64_t capacity) const {
        return outside_bytes_ + (capacity - outside_bytes_) / step_bytes * step_bytes;
    }
    [[nodiscard]] Tried tried(std::int64_t capacity);
    [[nodiscard]] static Tried range_of(const ReplayedTrace& replay);

    const AllocationTrace& trace_;
    const AllocatorSettings& settings_;
    std::int64_t outside_bytes_;
    std::vector<Tried> tried_;
    int replays_ = 0;
};

/// The capacity that a trace needs. `outside_bytes`: what the context and libraries take outside the allocator.
[[nodiscard]] inline CapacityNeed capacity_need(const AllocationTrace& trace, const AllocatorSettings& settings,
                                                std::int64_t outside_bytes = 0) {
    return CapacitySearch{trace, settings, outside_bytes}.find();
}

}  // namespace hpo::allocator
