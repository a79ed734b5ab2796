// SPDX-License-Identifier: MIT
#include "hpo/allocator/trace_report.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::allocator {

std::string_view phase_of(const AllocationTrace& trace, std::size_t event) {
    const auto after = std::upper_bound(trace.phases.begin(), trace.phases.end(), event,
                                        [](std::size_t value, const TracedPhase& phase) { return value < phase.first_event; });
    return after == trace.phases.begin() ? std::string_view{} : std::string_view{std::prev(after)->name};
}

std::vector<bool> live_after(const AllocationTrace& trace, std::size_t event) {
    std::vector<bool> live(trace.blocks.size());
    for (std::size_t i = 0; i < trace.events.size() && i <= event; ++i)
        live[AllocationTrace::block_of(trace.events[i])] = trace.events[i] >= 0;
    return live;
}

TraceMoment moment_after(const AllocationTrace& trace, std::size_t event) {
    const std::vector<TracePart> parts = parts_of_blocks(trace);
    const std::vector<bool> live = live_after(trace, event);
    TraceMoment moment{.event = event, .phase = std::string{phase_of(trace, event)}};
    std::vector<ScopeShare> shares(trace.scopes.size());
    for (std::size_t block = 0; block < live.size(); ++block) {
        if (!live[block]) continue;
        const std::int64_t bytes = trace.blocks[block].bytes;
        const auto part = static_cast<std::size_t>(parts[block]);
        ++moment.blocks;
        moment.bytes += bytes;
        moment.parts[part] += bytes;
        ScopeShare& share = shares[trace.blocks[block].scope];
        ++share.blocks;
        share.bytes += bytes;
        share.parts[part] += bytes;
    }
    for (std::size_t scope = 0; scope < shares.size(); ++scope) {
        if (shares[scope].blocks == 0) continue;
        shares[scope].scope = trace.scopes[scope];
        moment.scopes.push_back(shares[scope]);
    }
    std::stable_sort(moment.scopes.begin(), moment.scopes.end(),
                     [](const ScopeShare& a, const ScopeShare& b) { return a.bytes > b.bytes; });
    return moment;
}

std::vector<PhasePeak> phase_peaks(const AllocationTrace& trace) {
    std::vector<PhasePeak> peaks;
    const auto named = [&](const std::string& name) -> PhasePeak& {
        const auto found = std::find_if(peaks.begin(), peaks.end(), [&](const PhasePeak& each) { return each.phase == name; });
        return found != peaks.end() ? *found : peaks.emplace_back(PhasePeak{.phase = name});
    };
    std::int64_t live = 0;
    std::size_t phase = 0;
    PhasePeak* current = nullptr;
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
        for (; phase < trace.phases.size() && trace.phases[phase].first_event <= i; ++phase) {
            current = &named(trace.phases[phase].name);
            ++current->times;
        }
        live += trace.change(trace.events[i]);
        if (current && live > current->bytes) {
            current->bytes = live;
            current->event = i;
        }
    }
    return peaks;
}

}  // namespace hpo::allocator
