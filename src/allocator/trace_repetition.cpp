// SPDX-License-Identifier: MIT
#include "allocator/trace_repetition.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hpo::allocator {

std::optional<AllocationTrace> repeated(const AllocationTrace& trace, PhaseRange range, int times) {
    const auto at = [](std::int64_t block) { return static_cast<std::size_t>(block); };
    const auto begin_of = [&](std::size_t phase) {
        return phase < trace.phases.size() ? trace.phases[phase].first_event : trace.events.size();
    };
    std::vector<bool> inside(trace.blocks.size());  // taken in the range and not given back there
    std::vector<std::int64_t> brought;              // blocks from before the range that it gives back
    for (std::size_t i = begin_of(range.first); i < begin_of(range.last); ++i) {
        const std::int64_t event = trace.events[i];
        const std::size_t block = at(event >= 0 ? event : -1 - event);
        if (event < 0 && !inside[block]) brought.push_back(-1 - event);
        inside[block] = event >= 0;
    }
    std::vector<std::int64_t> left;  // blocks that the range leaves, in the order in which they were taken
    for (std::size_t block = 0; block < inside.size(); ++block) {
        if (inside[block]) left.push_back(static_cast<std::int64_t>(block));
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> next;  // a block from before the range, and its replacement in the next repetition
    for (const std::int64_t before : brought) {
        const auto same = std::find_if(left.begin(), left.end(),
                                       [&](std::int64_t block) { return trace.blocks[at(block)].bytes == trace.blocks[at(before)].bytes; });
        if (same == left.end()) return std::nullopt;
        next.emplace_back(before, *same);
        left.erase(same);
    }
    if (!left.empty()) return std::nullopt;

    AllocationTrace result;
    result.scopes = trace.scopes;
    result.libtorch = trace.libtorch;
    std::vector<std::int64_t> number(trace.blocks.size());
    const auto replay_events = [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
            const std::int64_t event = trace.events[i];
            if (event >= 0) number[at(event)] = result.take(trace.blocks[at(event)]);
            else result.give_back(number[at(-1 - event)]);
        }
    };
    const auto replay = [&](PhaseRange phases) {
        for (std::size_t phase = phases.first; phase < phases.last; ++phase) {
            result.enter(trace.phases[phase].name);
            replay_events(begin_of(phase), begin_of(phase + 1));
        }
    };
    replay_events(0, begin_of(0));
    replay({0, range.last});
    for (int i = 0; i < times; ++i) {
        std::vector<std::int64_t> stand_ins;
        for (const auto& [before, after] : next) stand_ins.push_back(number[at(after)]);
        for (std::size_t k = 0; k < next.size(); ++k) number[at(next[k].first)] = stand_ins[k];
        replay(range);
    }
    replay({range.last, trace.phases.size()});
    return result;
}

TracedSteps steps_of(const AllocationTrace& trace) {
    TracedSteps found;
    std::size_t begin = 0;
    bool in_step = false;
    bool new_epoch = true;
    for (std::size_t i = 0; i < trace.phases.size(); ++i) {
        const std::string& name = trace.phases[i].name;
        if (name == "evaluation") new_epoch = true;
        if (!in_step && (name == "batch" || name == "forward")) {
            begin = i;
            in_step = true;
        }
        if (!in_step || name != "step") continue;
        if (std::exchange(new_epoch, false)) found.epochs.push_back(found.steps.size());
        found.steps.push_back({begin, i + 1});
        in_step = false;
    }
    return found;
}

AllocationTrace with_more_steps(AllocationTrace trace) {
    constexpr int more_steps = 3;
    constexpr int more_epochs = 1;
    const TracedSteps found = steps_of(trace);
    if (found.steps.size() < 2 || found.epochs.empty()) return trace;
    const std::size_t step = found.epochs.size() > 1 ? found.epochs.back() : 1;
    if (auto longer = repeated(trace, found.steps[step], more_steps)) trace = std::move(*longer);
    else return trace;
    if (found.epochs.size() < 2) return trace;
    const TracedSteps now = steps_of(trace);
    if (auto longer = repeated(trace, {now.steps.front().last, now.steps[step + more_steps].last}, more_epochs)) trace = std::move(*longer);
    return trace;
}

}  // namespace hpo::allocator
