// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "hpo/allocator/allocation_trace.hpp"
#include "hpo/allocator/caching_allocator.hpp"
#include "hpo/allocator/settings.hpp"
#include "hpo/allocator/snapshot/snapshot.hpp"

namespace hpo::allocator {

inline constexpr std::size_t no_event = std::numeric_limits<std::size_t>::max();

/// A block over its life in a recording. All positions are indexes into the device's events.
struct RecordedBlock {
    std::uint64_t address = 0;
    std::int64_t requested_bytes = 0;
    std::int64_t bytes = 0;             ///< what it occupied; only of a block from before the recording
    std::uint32_t pool = 0;             ///< index into DeviceHistory::pools
    std::uint32_t stack = 0;            ///< index into Snapshot::stacks; of a block from before it may be empty
    std::size_t taken = no_event;       ///< no_event: from before the recording
    std::size_t given_back = no_event;  ///< no_event: it lives at the end
    [[nodiscard]] bool from_before() const { return taken == no_event; }
    /// It was asked for and never there: the request ran out of memory.
    [[nodiscard]] bool refused() const { return !from_before() && taken == given_back; }
};

/// What the program asked of the allocator, and what the allocator asked of the device for it.
struct Request {
    enum class Kind : std::uint8_t { take, give_back, empty_cache, refused };  ///< refused: it ran out of memory
    Kind kind = Kind::take;
    std::size_t block = 0;  ///< index into DeviceHistory::blocks; of a refused request, too
    std::size_t event = 0;
    std::vector<SegmentChange> changes{};  ///< what was taken from the device and given back to it meanwhile
    std::uint64_t segment = 0;             ///< the first address of the segment that was taken; 0: none
    /// It begins with memory that was given back to the device, and no stack tells whether by a retry or by empty_cache() before it.
    bool unexplained = false;
};

/// A segment that was there before the recording, and its blocks from its beginning on.
struct EarlierSegment {
    AllocatorBlock segment;
    std::vector<AllocatorBlock> parts;
    std::vector<std::size_t> blocks;  ///< for each part the index into DeviceHistory::blocks, or no_event if nobody holds it
};

/// The blocks that only one stream of one pool may use.
struct RecordedPool {
    std::uint64_t stream = 0;
    std::uint64_t private_pool = 0;  ///< index into Snapshot::private_pools; 0: none
    friend bool operator==(const RecordedPool&, const RecordedPool&) = default;
};

/// What one device's recording tells: the state at its beginning, and every request.
struct DeviceHistory {
    int device = 0;
    std::vector<RecordedPool> pools;
    std::vector<EarlierSegment> earlier;
    std::vector<RecordedBlock> blocks;  ///< those from before come first, by address
    std::vector<Request> requests;
    std::int64_t earlier_reserved_bytes = 0;
    std::int64_t earlier_allocated_bytes = 0;
    bool expandable = false;  ///< it has expandable segments
    bool mixed = false;       ///< it has usual segments, too
    /// How often the events and the state at the end contradict each other: events are missing. 0: none are known to be.
    std::size_t contradictions = 0;
    /// Blocks from before of which only a lower bound of their size is known.
    std::size_t uncertain_blocks = 0;
};

/// Works out the history of one device. The state at the beginning follows from the state at the end and from the events: what is given
/// back without having been taken was there before, and so was what is there at the end without having been taken.
///
/// A block of more than 1 MiB may occupy up to 1 MiB more than it was asked for. Of a block from before that is given back later, the next
/// block behind it tells how much, or the first address that is handed out there while it lives. `settings` say how sizes are rounded.
[[nodiscard]] DeviceHistory device_history(const Snapshot& snapshot, int device, const AllocatorSettings& settings);

/// The requests alone, as a trace that can be replayed under any settings. It begins with the blocks from before, by address: in what order
/// they were taken is not known. A request that was refused is taken and given back at once. Block i is history.blocks[i].
/// `emptied` are indexes of requests that empty_cache() was called before, in order, although the recording does not say so.
[[nodiscard]] AllocationTrace requested_trace(const DeviceHistory& history, std::span<const std::size_t> emptied = {});

}  // namespace hpo::allocator
