// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
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

/// O(events).
[[nodiscard]] inline TracePeak requested_peak(const AllocationTrace& trace) {
    TracePeak peak;
    std::int64_t live = 0;
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
        const std::int64_t event = trace.events[i];
        live +=
            event >= 0 ? trace.blocks[static_cast<std::size_t>(event)].bytes : -trace.blocks[static_cast<std::size_t>(-1 - event)].bytes;
        if (live > peak.bytes) peak = {live, i};
    }
    return peak;
}

/// What the blocks that live after an event are for: weights, gradients, optimizer, activations, workspace, in that order, told by the
/// phase that took them and by whether they outlived it. Their sum is what live blocks have asked for. O(events).
[[nodiscard]] inline std::vector<EstimatePart> parts_after(const AllocationTrace& trace, std::size_t event) {
    static constexpr std::array<std::string_view, 5> names{"weights", "gradients", "optimizer", "activations", "workspace"};
    enum Part : std::size_t { weights, gradients, optimizer, activations, workspace };
    constexpr std::size_t never = static_cast<std::size_t>(-1);
    std::vector<std::size_t> taken(trace.blocks.size(), never);
    std::vector<std::size_t> given_back(trace.blocks.size(), never);
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
        const std::int64_t each = trace.events[i];
        if (each >= 0) taken[static_cast<std::size_t>(each)] = i;
        else given_back[static_cast<std::size_t>(-1 - each)] = i;
    }
    std::array<std::int64_t, names.size()> bytes{};
    std::size_t phase = 0;                                               // number of the first phase that begins after the block was taken
    for (std::size_t block = 0; block < trace.blocks.size(); ++block) {  // blocks are in the order in which they were taken
        if (taken[block] > event) break;
        while (phase < trace.phases.size() && trace.phases[phase].first_event <= taken[block]) ++phase;
        if (given_back[block] <= event) continue;
        const std::string_view name = phase == 0 ? std::string_view{} : trace.phases[phase - 1].name;
        const std::size_t end = phase < trace.phases.size() ? trace.phases[phase].first_event : never;
        const bool outlives = given_back[block] >= end;
        const Part part = name == "build" && outlives                                                  ? weights
                          : name == "backward" && outlives                                             ? gradients
                          : name == "step" && outlives                                                 ? optimizer
                          : name == "batch" || name == "evaluation" || (name == "forward" && outlives) ? activations
                                                                                                       : workspace;
        bytes[part] += trace.blocks[block].bytes;
    }
    std::vector<EstimatePart> parts;
    for (std::size_t i = 0; i < names.size(); ++i) parts.push_back({std::string{names[i]}, bytes[i]});
    return parts;
}

}  // namespace hpo::memory
