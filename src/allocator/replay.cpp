// SPDX-License-Identifier: MIT
#include "hpo/allocator/replay.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hpo::allocator {

ReplayedTrace simulate(const AllocationTrace& trace, const AllocatorSettings& settings, const AllocatorDevice& device) {
    CachingAllocator allocator{settings, device};
    std::vector<CachingAllocator::Index> held(trace.blocks.size());
    ReplayedTrace result;
    AllocatorCounts before;
    for (const std::uint32_t stream : trace.private_streams) allocator.keep(stream);
    auto emptied = trace.emptied.begin();
    for (std::size_t i = 0; i < trace.events.size() && !result.refused; ++i) {
        for (; emptied != trace.emptied.end() && *emptied <= i; ++emptied) allocator.empty_cache();
        const std::int64_t event = trace.events[i];
        if (event < 0) {
            allocator.give_back(held[static_cast<std::size_t>(-1 - event)]);
            continue;
        }
        const auto block = static_cast<std::size_t>(event);
        const std::int64_t requested = trace.blocks[block].bytes;
        const auto taken = allocator.take(requested, trace.blocks[block].stream);
        const AllocatorCounts now = allocator.counts();
        if (now.allocated_peak > before.allocated_peak) {
            result.allocated_peak_event = i;
            result.reserved_at_allocated_peak = now.reserved;
        }
        if (now.reserved_peak > before.reserved_peak) result.reserved_peak_event = i;
        before = now;
        if (taken) held[block] = *taken;
        else
            result.refused =
                RefusedRequest{i, block, requested, settings.segment(settings.rounded(requested)), now.allocated, now.reserved};
    }
    if (!result.refused && emptied != trace.emptied.end()) allocator.empty_cache();
    result.counts = allocator.counts();
    const CachingAllocator::SameWith same = allocator.same_with();
    result.same_from_bytes = same.from;
    result.same_to_bytes = same.to;
    return result;
}

}  // namespace hpo::allocator
