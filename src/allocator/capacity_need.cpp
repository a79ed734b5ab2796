// SPDX-License-Identifier: MIT
#include "hpo/allocator/capacity_need.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace hpo::allocator {

CapacityNeed CapacitySearch::find() {
    CapacityNeed found;
    found.unlimited = simulate(trace_, settings_, {.outside_bytes = outside_bytes_});
    const std::int64_t floor = found.unlimited.counts.allocated_peak + outside_bytes_;
    std::int64_t enough = found.unlimited.counts.reserved_peak + outside_bytes_;
    if (settings_.memory_fraction) enough = static_cast<std::int64_t>(std::ceil(static_cast<double>(enough) / *settings_.memory_fraction));
    else tried_.push_back(range_of(found.unlimited));
    // Where a refusal always leads to a retry, no capacity below the peak is without one.
    const bool refused_is_retried =
        !settings_.memory_fraction && (settings_.expandable_segments || settings_.max_split_bytes == AllocatorSettings{}.max_split_bytes);
    found.comfort = least({refused_is_retried ? enough : floor, std::clamp(enough, floor, unlimited_bytes)},
                          [](const Tried& tried) { return tried.retries == 0; });
    found.need = least({floor, found.comfort}, [](const Tried&) { return true; });
    found.replays = replays_ + 1;
    return found;
}

template <class Wanted>
std::int64_t CapacitySearch::least(Bounds bounds, const Wanted& wanted) {
    const auto good = [&](const Tried& tried) { return tried.survived && wanted(tried); };
    std::int64_t enough = on_grid(bounds.enough + step_bytes - 1);
    while (enough < unlimited_bytes && !good(tried(enough))) enough = std::min(2 * enough + step_bytes, unlimited_bytes);
    if (!good(tried(enough))) return unlimited_bytes;
    std::int64_t bad = on_grid(bounds.floor) - 1;
    for (;;) {
        if (bad >= enough) return enough;
        std::int64_t best = std::max(tried(enough).from, bad + 1);
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

CapacitySearch::Tried CapacitySearch::tried(std::int64_t capacity) {
    for (const Tried& each : tried_) {
        if (each.from <= capacity && capacity <= each.to) return each;
    }
    const ReplayedTrace replay = simulate(trace_, settings_, {.total_bytes = capacity, .outside_bytes = outside_bytes_});
    ++replays_;
    tried_.push_back(range_of(replay));
    return tried_.back();
}

CapacitySearch::Tried CapacitySearch::range_of(const ReplayedTrace& replay) {
    Tried range{replay.same_from_bytes, replay.same_to_bytes, replay.survived(), replay.counts.retries};
    if (range.from == range.to) range.to = range.from + step_bytes - 1;
    return range;
}

}  // namespace hpo::allocator
