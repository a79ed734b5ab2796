// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "hpo/memory/allocation_trace.hpp"

namespace hpo::memory {

/// Phases of a trace with their events, the last excluded.
struct PhaseRange {
    std::size_t first = 0;
    std::size_t last = 0;
};

/// The trace with what happens in `range` happening `times` more times at once. Nothing where it could not: what it leaves behind must be
/// of the same sizes as what it gives back of before.
[[nodiscard]] std::optional<AllocationTrace> repeated(const AllocationTrace& trace, PhaseRange range, int times);

/// The optimizer's steps of a training, and how many each epoch has.
struct TracedSteps {
    std::vector<PhaseRange> steps;
    std::vector<std::size_t> epochs;  ///< each epoch's first step; an evaluation ends it
};

[[nodiscard]] TracedSteps steps_of(const AllocationTrace& trace);

/// A short training's trace as one of more steps and epochs, since an allocator's segments settle only after several: of 54 trainings of
/// encoders, two steps and two epochs needed up to 10 % less than sixty steps, these nine up to 1.1 % less. Of two epochs the second's
/// first step is repeated, and then all from one epoch's steps to the next one's; of one epoch its second step. What cannot be repeated, as
/// a training of one step, stays as it is.
[[nodiscard]] AllocationTrace with_more_steps(AllocationTrace trace);

}  // namespace hpo::memory

#ifndef HPO_COMPILED
#include "hpo/memory/impl/trace_repetition_inl.hpp"
#endif
