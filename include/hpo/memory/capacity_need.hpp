// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
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

    [[nodiscard]] CapacityNeed find() {
        CapacityNeed found;
        found.unlimited = simulate(trace_, settings_, {.outside_bytes = outside_bytes_});
        const std::int64_t floor = found.unlimited.counts.allocated_peak + outside_bytes_;
        std::int64_t enough = found.unlimited.counts.reserved_peak + outside_bytes_;
        if (settings_.memory_fraction)
            enough = static_cast<std::int64_t>(std::ceil(static_cast<double>(enough) / *settings_.memory_fraction));
        found.comfort = least({floor, std::clamp(enough, floor, unlimited_bytes)}, [](const Tried& tried) { return tried.retries == 0; });
        found.need = least({floor, found.comfort}, [](const Tried&) { return true; });
        found.replays = replays_ + 1;
        return found;
    }

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
    [[nodiscard]] std::int64_t least(Bounds bounds, const Wanted& wanted) {
        const auto good = [&](const Tried& tried) { return tried.survived && wanted(tried); };
        std::int64_t enough = on_grid(bounds.enough + step_bytes - 1);
        while (enough < unlimited_bytes && !good(tried(enough))) enough = std::min(2 * enough + step_bytes, unlimited_bytes);
        if (!good(tried(enough))) return unlimited_bytes;
        std::int64_t bad = on_grid(bounds.floor) - 1;
        for (;;) {
            std::int64_t best = tried(enough).from;
            while (best - bad > 1) {
                const Tried middle = tried(std::max(on_grid(bad + (best - bad) / 2), bad + 1));
                if (good(middle)) best = std::max(middle.from, bad + 1);
                else bad = middle.to;
            }
            std::int64_t next = best;
            while (next < std::min(best + verified_bytes, enough)) {
                const Tried above = tried(next);
                if (!good(above)) {
                    bad = above.to;
                    break;
                }
                next = above.to + 1;
            }
            if (bad < best) return best;
        }
    }
    [[nodiscard]] std::int64_t on_grid(std::int64_t capacity) const {
        return outside_bytes_ + (capacity - outside_bytes_) / step_bytes * step_bytes;
    }
    [[nodiscard]] Tried tried(std::int64_t capacity) {
        for (const Tried& each : tried_) {
            if (each.from <= capacity && capacity <= each.to) return each;
        }
        const ReplayedTrace replay = simulate(trace_, settings_, {.total_bytes = capacity, .outside_bytes = outside_bytes_});
        ++replays_;
        Tried now{replay.same_from_bytes, replay.same_to_bytes, replay.survived(), replay.counts.retries};
        if (now.from == now.to) now.to = now.from + step_bytes - 1;
        tried_.push_back(now);
        return now;
    }

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
