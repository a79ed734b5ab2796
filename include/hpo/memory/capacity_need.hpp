// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "hpo/memory/allocation_trace.hpp"
#include "hpo/memory/allocator_replay.hpp"
#include "hpo/memory/allocator_settings.hpp"

namespace hpo::memory {

/// How large a device must be for a trace. All bytes; what is outside the allocator is included.
struct CapacityNeed {
    std::int64_t need = 0;     ///< least that serves every request, and goes on to with up to 64 MiB more
    std::int64_t comfort = 0;  ///< least that serves every request without a retry, likewise
    ReplayedTrace unlimited;   ///< on a device that never refuses
    int replays = 0;           ///< that it took to find out
};

/// Searches the capacities that a trace's replay survives. More room can make a replay fail that survives with less, since what is given
/// back at a limit is not cut up; so the bisection's answer is verified upwards. Exact with the usual settings; to 2 MiB with a memory
/// fraction or expandable segments.
class CapacitySearch {
public:
    CapacitySearch(const AllocationTrace& trace, const AllocatorSettings& settings, std::int64_t outside_bytes)
        : trace_{trace}, settings_{settings}, outside_bytes_{outside_bytes} {}

    [[nodiscard]] CapacityNeed find();

private:
    static constexpr std::int64_t step_bytes = own_segment_step_bytes;
    static constexpr std::int64_t verified_bytes = 64 << 20;
    struct Bounds {
        std::int64_t floor = 0;   ///< nothing below it is tried
        std::int64_t enough = 0;  ///< where to begin; doubled until it is
    };
    /// How the replay ends with the capacities of a range.
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

    const AllocationTrace& trace_;
    const AllocatorSettings& settings_;
    std::int64_t outside_bytes_;
    std::vector<Tried> tried_;
    int replays_ = 0;
};

/// The capacity that a trace needs. `outside_bytes`: what the context and libraries take beside the allocator.
[[nodiscard]] inline CapacityNeed capacity_need(const AllocationTrace& trace, const AllocatorSettings& settings,
                                                std::int64_t outside_bytes = 0) {
    return CapacitySearch{trace, settings, outside_bytes}.find();
}

}  // namespace hpo::memory

#ifndef HPO_COMPILED
#include "hpo/memory/impl/capacity_need_inl.hpp"
#endif
