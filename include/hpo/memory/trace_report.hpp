// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/memory/allocation_trace.hpp"
#include "hpo/memory/trace_peak.hpp"

namespace hpo::memory {

/// Bytes by TracePart.
using PartBytes = std::array<std::int64_t, trace_part_names.size()>;

/// What one scope's blocks held at a moment.
struct ScopeShare {
    std::string scope;
    std::size_t blocks = 0;
    std::int64_t bytes = 0;
    PartBytes parts{};
    friend bool operator==(const ScopeShare&, const ScopeShare&) = default;
};

/// What was alive after an event of a trace, by scope and by part.
struct TraceMoment {
    std::size_t event = 0;
    std::string phase;  ///< that it belongs to; empty: none
    std::size_t blocks = 0;
    std::int64_t bytes = 0;  ///< as asked for
    PartBytes parts{};
    std::vector<ScopeShare> scopes;  ///< those that hold anything, the largest first
};

/// The name of the phase that an event belongs to; empty for those before the first.
[[nodiscard]] std::string_view phase_of(const AllocationTrace& trace, std::size_t event);

/// O(events).
[[nodiscard]] TraceMoment moment_after(const AllocationTrace& trace, std::size_t event);

/// The highest that live blocks have asked for while a phase ran.
struct PhasePeak {
    std::string phase;
    std::int64_t bytes = 0;
    std::size_t event = 0;
    int times = 0;  ///< that phases of this name ran
    friend bool operator==(const PhasePeak&, const PhasePeak&) = default;
};

/// By name, in the order in which the names first appear. O(events).
[[nodiscard]] std::vector<PhasePeak> phase_peaks(const AllocationTrace& trace);

}  // namespace hpo::memory

#ifndef HPO_COMPILED
#include "hpo/memory/impl/trace_report_inl.hpp"
#endif
