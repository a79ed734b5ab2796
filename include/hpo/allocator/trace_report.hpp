// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/allocator/allocation_trace.hpp"
#include "hpo/allocator/trace_peak.hpp"

namespace hpo::allocator {

/// Bytes by TracePart.
using PartBytes = std::array<std::int64_t, trace_part_names.size()>;

/// The blocks that one scope held at a moment.
struct ScopeShare {
    std::string scope;
    std::size_t blocks = 0;
    std::int64_t bytes = 0;
    PartBytes parts{};
    friend bool operator==(const ScopeShare&, const ScopeShare&) = default;
};

/// The live blocks after an event of a trace, by scope and by part.
struct TraceMoment {
    std::size_t event = 0;
    std::string phase;  ///< the phase that the event belongs to; empty: none
    std::size_t blocks = 0;
    std::int64_t bytes = 0;  ///< requested sizes
    PartBytes parts{};
    std::vector<ScopeShare> scopes;  ///< scopes with live blocks, the largest first
};

/// The name of the phase that an event belongs to. Empty for events before the first phase.
[[nodiscard]] std::string_view phase_of(const AllocationTrace& trace, std::size_t event);

/// For each block, whether it is live after an event. O(events).
[[nodiscard]] std::vector<bool> live_after(const AllocationTrace& trace, std::size_t event);

/// O(events).
[[nodiscard]] TraceMoment moment_after(const AllocationTrace& trace, std::size_t event);

/// The highest sum of requested bytes while a phase ran.
struct PhasePeak {
    std::string phase;
    std::int64_t bytes = 0;
    std::size_t event = 0;
    int times = 0;  ///< number of phases of this name
    friend bool operator==(const PhasePeak&, const PhasePeak&) = default;
};

/// One peak for each name, in the order in which the names first appear. O(events).
[[nodiscard]] std::vector<PhasePeak> phase_peaks(const AllocationTrace& trace);

}  // namespace hpo::allocator
