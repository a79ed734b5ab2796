// SPDX-License-Identifier: MIT
#include "hpo/allocator/snapshot/device_history.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "allocator/snapshot/earlier_layout.hpp"
#include "allocator/snapshot/event_sorter.hpp"

namespace hpo::allocator {

DeviceHistory device_history(const Snapshot& snapshot, int device, const AllocatorSettings& settings) {
    return EarlierLayout{EventSorter{snapshot, device}.sort(), snapshot.events_of(device), settings}.lay_out();
}

AllocationTrace requested_trace(const DeviceHistory& history, std::span<const std::size_t> emptied) {
    AllocationTrace trace;
    for (std::uint32_t i = 0; i < history.pools.size(); ++i) {
        if (history.pools[i].private_pool != 0) trace.private_streams.push_back(i);
    }
    std::vector<std::int64_t> number(history.blocks.size());
    const auto take = [&](std::size_t block) {
        number[block] = trace.take({.bytes = history.blocks[block].requested_bytes, .stream = history.blocks[block].pool});
    };
    for (std::size_t i = 0; i < history.blocks.size() && history.blocks[i].from_before(); ++i) take(i);
    for (std::size_t i = 0; i < history.requests.size(); ++i) {
        const Request& each = history.requests[i];
        if (!emptied.empty() && emptied.front() == i) {
            trace.emptied.push_back(trace.events.size());
            emptied = emptied.subspan(1);
        }
        switch (each.kind) {
            case Request::Kind::take: take(each.block); break;
            case Request::Kind::give_back: trace.give_back(number[each.block]); break;
            case Request::Kind::empty_cache: trace.emptied.push_back(trace.events.size()); break;
            case Request::Kind::refused:
                take(each.block);
                trace.give_back(number[each.block]);
                break;
        }
    }
    return trace;
}

}  // namespace hpo::allocator
