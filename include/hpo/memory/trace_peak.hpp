// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "hpo/core/estimate.hpp"
#include "hpo/memory/allocation_trace.hpp"

namespace hpo::memory {

/// The moment when live blocks have asked for most.
struct TracePeak {
    std::int64_t bytes = 0;  ///< as asked for
    std::size_t event = 0;   ///< the last that had happened: the first one after which the sum was so high
};

/// Blocks of the scope `without` do not count; empty: all do. O(events).
[[nodiscard]] inline TracePeak requested_peak(const AllocationTrace& trace, std::string_view without = {}) {
    TracePeak peak;
    std::int64_t live = 0;
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
        const std::int64_t event = trace.events[i];
        const TracedBlock& block = trace.blocks[static_cast<std::size_t>(event >= 0 ? event : -1 - event)];
        if (!without.empty() && trace.scopes[block.scope] == without) continue;
        live += event >= 0 ? block.bytes : -block.bytes;
        if (live > peak.bytes) peak = {live, i};
    }
    return peak;
}

/// What a block of device memory is for.
enum class TracePart : std::uint8_t { weights, gradients, optimizer, activations, workspace };

inline constexpr std::array<std::string_view, 5> trace_part_names{"weights", "gradients", "optimizer", "activations", "workspace"};

/// What each block of a trace is for, told by the phase that took it and by whether it outlived it. O(events).
[[nodiscard]] inline std::vector<TracePart> parts_of_blocks(const AllocationTrace& trace) {
    constexpr std::size_t never = static_cast<std::size_t>(-1);
    std::vector<std::size_t> given_back(trace.blocks.size(), never);
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
        if (trace.events[i] < 0) given_back[static_cast<std::size_t>(-1 - trace.events[i])] = i;
    }
    std::vector<TracePart> parts(trace.blocks.size(), TracePart::workspace);
    std::size_t phase = 0;  // number of the first phase that begins after the event
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
        if (trace.events[i] < 0) continue;
        const auto block = static_cast<std::size_t>(trace.events[i]);
        while (phase < trace.phases.size() && trace.phases[phase].first_event <= i) ++phase;
        const std::string_view name = phase == 0 ? std::string_view{} : trace.phases[phase - 1].name;
        const bool outlives = given_back[block] >= (phase < trace.phases.size() ? trace.phases[phase].first_event : never);
        parts[block] = name == "build" && outlives                                                  ? TracePart::weights
                       : name == "backward" && outlives                                             ? TracePart::gradients
                       : (name == "step" || name == "update") && outlives                           ? TracePart::optimizer
                       : name == "batch" || name == "evaluation" || (name == "forward" && outlives) ? TracePart::activations
                                                                                                    : TracePart::workspace;
    }
    return parts;
}

/// What the blocks that live after an event are for: weights, gradients, optimizer, activations, workspace, in that order. Their sum is
/// what live blocks have asked for. O(events).
[[nodiscard]] inline std::vector<EstimatePart> parts_after(const AllocationTrace& trace, std::size_t event) {
    const std::vector<TracePart> parts_of = parts_of_blocks(trace);
    std::vector<EstimatePart> parts;
    for (const std::string_view name : trace_part_names) parts.push_back({std::string{name}, 0});
    for (std::size_t i = 0; i < trace.events.size() && i <= event; ++i) {
        const std::int64_t each = trace.events[i];
        const auto block = static_cast<std::size_t>(each >= 0 ? each : -1 - each);
        parts[static_cast<std::size_t>(parts_of[block])].bytes += each >= 0 ? trace.blocks[block].bytes : -trace.blocks[block].bytes;
    }
    return parts;
}

}  // namespace hpo::memory
