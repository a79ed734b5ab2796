// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hpo/allocator/allocation_trace.hpp"

namespace hpo::allocator {

/// One step of training in a trace: it ends with its phase "step".
struct TracedStep {
    std::size_t behind = 0;  ///< the first event that is no longer part of it
    std::int64_t peak = 0;   ///< requested bytes
    std::int64_t held = 0;   ///< requested bytes that live after it
    std::size_t peak_event = 0;
};

/// The steps of a trace with phases, in order. A trace without a phase "step" has none.
[[nodiscard]] std::vector<TracedStep> traced_steps(const AllocationTrace& trace);

/// A scope that holds more after every step than after the one before.
struct GrowingScope {
    std::string scope;
    std::int64_t bytes_per_step = 0;  ///< mean
    std::size_t steps = 0;            ///< so many pairs of neighbours were compared
};

/// What grows from step to step. The first step and the second do not count: they take what later ones keep. At least four steps are
/// needed.
[[nodiscard]] std::vector<GrowingScope> growing_scopes(const AllocationTrace& trace, const std::vector<TracedStep>& steps);

}  // namespace hpo::allocator
