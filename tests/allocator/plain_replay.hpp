// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "allocator/plain_allocator.hpp"
#include "hpo/allocator/replay.hpp"

namespace hpo::tests {

/// What `simulate` answers, told by the plain allocator.
inline allocator::ReplayedTrace replay_plainly(const allocator::AllocationTrace& trace, const allocator::AllocatorSettings& settings,
                                               const allocator::AllocatorDevice& device) {
    PlainAllocator allocator{settings, device};
    allocator::ReplayedTrace result;
    for (std::size_t i = 0; i < trace.events.size() && !result.refused; ++i) {
        const std::int64_t event = trace.events[i];
        if (event < 0) {
            result.counts.requested -= trace.blocks[std::size_t(-1 - event)].bytes;
            allocator.give_back(std::size_t(-1 - event));
            continue;
        }
        const std::int64_t bytes = trace.blocks[std::size_t(event)].bytes;
        const bool served = allocator.take(std::size_t(event), bytes);
        const std::int64_t allocated = allocator.allocated();
        if (served) {
            result.counts.requested += bytes;
            result.counts.requested_peak = std::max(result.counts.requested_peak, result.counts.requested);
            if (allocated > result.counts.allocated_peak) {
                result.counts.allocated_peak = allocated;
                result.allocated_peak_event = i;
                result.reserved_at_allocated_peak = allocator.reserved();
            }
        } else {
            result.refused =
                allocator::RefusedRequest{i, std::size_t(event), bytes, allocator.asked(bytes), allocated, allocator.reserved()};
        }
        if (allocator.reserved_peak > result.counts.reserved_peak) {
            result.counts.reserved_peak = allocator.reserved_peak;
            result.reserved_peak_event = i;
        }
    }
    result.counts.allocated = allocator.allocated();
    result.counts.reserved = allocator.reserved();
    result.counts.retries = allocator.retries;
    return result;
}

}  // namespace hpo::tests
