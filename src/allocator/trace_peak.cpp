// SPDX-License-Identifier: MIT
#include "hpo/allocator/trace_peak.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::allocator {

TracePeak requested_peak(const AllocationTrace& trace, std::string_view without) {
    TracePeak peak;
    std::int64_t live = 0;
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
        const std::int64_t event = trace.events[i];
        if (!without.empty() && trace.scopes[trace.blocks[AllocationTrace::block_of(event)].scope] == without) continue;
        live += trace.change(event);
        if (live > peak.bytes) peak = {live, i};
    }
    return peak;
}

std::vector<TracePart> parts_of_blocks(const AllocationTrace& trace) {
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

std::vector<EstimatePart> parts_after(const AllocationTrace& trace, std::size_t event) {
    const std::vector<TracePart> parts_of = parts_of_blocks(trace);
    std::vector<EstimatePart> parts;
    for (const std::string_view name : trace_part_names) parts.push_back({std::string{name}, 0});
    for (std::size_t i = 0; i < trace.events.size() && i <= event; ++i) {
        const std::int64_t each = trace.events[i];
        parts[static_cast<std::size_t>(parts_of[AllocationTrace::block_of(each)])].bytes += trace.change(each);
    }
    return parts;
}

}  // namespace hpo::allocator
