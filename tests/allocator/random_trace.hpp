// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "hpo/allocator/allocation_trace.hpp"
#include "hpo/allocator/settings.hpp"
#include "hpo/core/seed.hpp"
#include "support/bytes.hpp"

namespace hpo::tests {

inline std::int64_t draw(Rng& rng, std::int64_t from, std::int64_t to) {
    return from + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(to - from + 1)));
}

/// Blocks of all pools and segment sizes; of a few sizes each time, so that they fit each other's holes.
inline allocator::AllocationTrace random_trace(Rng& rng, std::int64_t events) {
    std::vector<std::int64_t> sizes;
    for (std::int64_t i = draw(rng, 1, 6); i > 0; --i) {
        switch (rng.below(6)) {
            case 0: sizes.push_back(draw(rng, 1, 4 * kib)); break;
            case 1: sizes.push_back(draw(rng, kib, mib)); break;
            case 2: sizes.push_back(draw(rng, mib - 1, mib + 1)); break;
            case 3: sizes.push_back(draw(rng, mib, 10 * mib)); break;
            case 4: sizes.push_back(draw(rng, 9 * mib, 60 * mib)); break;
            default: sizes.push_back(512 * draw(rng, 1, 5000)); break;
        }
    }
    allocator::AllocationTrace trace;
    std::vector<std::int64_t> live;
    for (std::int64_t i = 0; i < events; ++i) {
        if (!live.empty() && rng.below(100) < 42) {
            std::swap(live[rng.below(live.size())], live.back());
            trace.give_back(live.back());
            live.pop_back();
        } else {
            live.push_back(trace.take({.bytes = sizes[rng.below(sizes.size())]}));
        }
    }
    return trace;
}

/// Settings that LibTorch accepts.
inline allocator::AllocatorSettings random_settings(Rng& rng) {
    allocator::AllocatorSettings settings;
    if (rng.below(3) == 0) settings.large_segment_bytes = settings.max_non_split_rounding_bytes = mib * draw(rng, 11, 40);
    if (rng.below(3) == 0) settings.max_split_bytes = settings.large_segment_bytes + mib * draw(rng, 0, 20);
    if (rng.below(4) == 0) settings.max_non_split_rounding_bytes = settings.large_segment_bytes + mib * draw(rng, 0, 20);
    if (rng.below(3) == 0) {
        for (auto& divisions : settings.power2_divisions) divisions = 1U << rng.below(5);
    }
    if (rng.below(6) == 0) settings.roundup_bypass_bytes = mib * draw(rng, 1, 30);
    if (rng.below(3) == 0) settings.memory_fraction = 0.25 + 0.75 * rng.uniform();
    if (rng.below(2) == 0) settings.garbage_collection_threshold = 0.1 + 0.8 * rng.uniform();
    settings.expandable_segments = rng.below(3) == 0;
    return settings;
}

}  // namespace hpo::tests
