// SPDX-License-Identifier: MIT
#include "hpo/allocator/snapshot/growth.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace hpo::allocator {

std::vector<TracedStep> traced_steps(const AllocationTrace& trace) {
    std::vector<TracedStep> steps;
    std::vector<std::size_t> ends;  // where a phase "step" ends and another one begins
    for (std::size_t i = 0; i + 1 < trace.phases.size(); ++i) {
        if (trace.phases[i].name == "step") ends.push_back(trace.phases[i + 1].first_event);
    }
    if (!trace.phases.empty() && trace.phases.back().name == "step") ends.push_back(trace.events.size());
    std::int64_t live = 0;
    std::size_t event = 0;
    for (const std::size_t end : ends) {
        TracedStep step{.behind = end};
        for (; event < end; ++event) {
            const std::int64_t each = trace.events[event];
            live += trace.change(each);
            if (live > step.peak) {
                step.peak = live;
                step.peak_event = event;
            }
        }
        step.held = live;
        steps.push_back(step);
    }
    return steps;
}

std::vector<GrowingScope> growing_scopes(const AllocationTrace& trace, const std::vector<TracedStep>& steps) {
    constexpr std::size_t settled = 2;
    if (steps.size() < settled + 2) return {};
    // Only the scopes that a step touched are looked at: another one did not grow in it.
    std::vector<std::int64_t> held(trace.scopes.size());
    std::vector<std::int64_t> first(trace.scopes.size());
    std::vector<std::int64_t> before(trace.scopes.size());
    std::vector<std::size_t> grown(trace.scopes.size());
    std::size_t event = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        std::vector<std::uint32_t> touched;
        for (; event < steps[i].behind; ++event) {
            const std::int64_t each = trace.events[event];
            const std::uint32_t scope = trace.blocks[AllocationTrace::block_of(each)].scope;
            held[scope] += trace.change(each);
            touched.push_back(scope);
        }
        std::ranges::sort(touched);
        touched.erase(std::ranges::unique(touched).begin(), touched.end());
        for (const std::uint32_t scope : touched) {
            if (i >= settled && held[scope] > before[scope]) ++grown[scope];
            before[scope] = held[scope];
            if (i < settled) first[scope] = held[scope];
        }
    }
    std::vector<GrowingScope> found;
    const std::size_t compared = steps.size() - settled;
    for (std::size_t scope = 0; scope < held.size(); ++scope) {
        if (grown[scope] == compared)
            found.push_back({trace.scopes[scope], (held[scope] - first[scope]) / static_cast<std::int64_t>(compared), compared});
    }
    std::ranges::sort(found, std::ranges::greater{}, &GrowingScope::bytes_per_step);
    return found;
}

}  // namespace hpo::allocator
