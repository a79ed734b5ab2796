// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>

#include "hpo/allocator/blocks.hpp"
#include "hpo/allocator/settings.hpp"

namespace hpo::allocator {

/// One pool's memory with expandable_segments: address space that is reserved once, and pages that are mapped into it when they are needed.
/// `Ledger` counts the device's bytes. It has `bool take(bytes)`, which returns false if the device has too few, `void give_back(bytes)`,
/// `uint64_t next_segment()`, `void note(taken, block)`, which is told each change, and `void reach(bytes)`: with segments of at least so
/// many bytes, the requests until then would lie where they do. It is told `unlimited_bytes` when a segment is too small for a request.
template <class Ledger>
class ExpandableSegments {
public:
    using Index = AllocatorBlocks::Index;
    using State = AllocatorBlock::State;
    struct Shape {
        std::uint32_t stream = 0;
        bool small = false;
        std::int64_t page_bytes = 0;   ///< size of one page
        std::int64_t space_bytes = 0;  ///< size of one segment; rounded up to pages
    };
    ExpandableSegments(AllocatorBlocks& blocks, Ledger& ledger, Shape shape) : blocks_{blocks}, ledger_{ledger}, shape_{shape} {}

    /// Takes a block of at least `bytes` and maps the pages that are missing. Returns none if the device refuses a page. Pages that were
    /// mapped until then stay cached.
    [[nodiscard]] Index take(std::int64_t bytes) {
        Index block = room(bytes);
        if (block == AllocatorBlocks::none) return AllocatorBlocks::none;
        if (blocks_[block].state == State::unmapped && !map(block, std::min(blocks_[block].bytes, bytes))) {
            if (blocks_[block].whole_segment()) {  // a new one: the next request may as well make it anew
                blocks_.take(block);
                blocks_.drop(block);
            }
            return AllocatorBlocks::none;
        }
        while (blocks_[block].bytes < bytes) {
            const Index behind = blocks_[block].next;
            if (!map(behind, std::min(bytes - blocks_[block].bytes, blocks_[behind].bytes))) return AllocatorBlocks::none;
            block = behind;  // it has merged with the block before it
        }
        blocks_.take(block);
        return block;
    }
    /// Unmaps every page of a cached block.
    void unmap(Index block) {
        const std::int64_t page = shape_.page_bytes;
        const std::int64_t begin = (blocks_[block].offset + page - 1) / page * page;
        const std::int64_t end = (blocks_[block].offset + blocks_[block].bytes) / page * page;
        if (begin >= end) return;
        blocks_.take(block);
        if (begin > blocks_[block].offset) {
            const Index before = block;
            block = blocks_.split(before, begin - blocks_[before].offset);
            blocks_.put(before, State::cached);
        }
        if (end < blocks_[block].offset + blocks_[block].bytes) blocks_.put(blocks_.split(block, end - begin), State::cached);
        ledger_.give_back(end - begin);
        ledger_.note(false, blocks_[block]);
        blocks_.merge(block, State::unmapped);
        if (blocks_[block].whole_segment()) blocks_.drop(block);
        else blocks_.put(block, State::unmapped);
    }

private:
    /// The first run of cached and unmapped blocks, by address, that is large enough. Returns none if no segment can be.
    [[nodiscard]] Index room(std::int64_t bytes) {
        const std::set<AllocatorBlocks::ByAddress>& unmapped = blocks_.pool(shape_.small).unmapped;
        for (auto at = unmapped.lower_bound({.stream = shape_.stream}); at != unmapped.end(); ++at) {
            const AllocatorBlocks::ByAddress& hole = *at;
            if (hole.stream != shape_.stream) break;
            const Index before = blocks_[hole.block].previous;
            const Index first = before != AllocatorBlocks::none && blocks_[before].state == State::cached ? before : hole.block;
            std::int64_t found = 0;
            for (Index each = first; found < bytes && each != AllocatorBlocks::none && blocks_[each].state != State::taken;
                 each = blocks_[each].next) {
                found += blocks_[each].bytes;
            }
            if (found >= bytes) {
                // A page more: a segment that is mapped to its end has no hole, which the next request looks for.
                ledger_.reach(blocks_[first].offset + bytes + shape_.page_bytes);
                return first;
            }
            if (blocks_[hole.block].next == AllocatorBlocks::none) ledger_.reach(unlimited_bytes);
        }
        const std::int64_t space = (shape_.space_bytes + shape_.page_bytes - 1) / shape_.page_bytes * shape_.page_bytes;
        if (space < bytes) {  // the device is smaller than the request
            ledger_.reach(unlimited_bytes);
            return AllocatorBlocks::none;
        }
        const Index added =
            blocks_.add({.bytes = space, .segment = ledger_.next_segment(), .stream = shape_.stream, .small = shape_.small});
        blocks_.put(added, State::unmapped);
        ledger_.reach(bytes + shape_.page_bytes);
        return added;
    }
    [[nodiscard]] bool map(Index block, std::int64_t bytes) {
        const std::int64_t mapped = (bytes + shape_.page_bytes - 1) / shape_.page_bytes * shape_.page_bytes;
        if (!ledger_.take(mapped)) return false;
        blocks_.take(block);
        if (mapped < blocks_[block].bytes) blocks_.put(blocks_.split(block, mapped), State::unmapped);
        ledger_.note(true, blocks_[block]);
        blocks_.merge(block, State::cached);
        blocks_.put(block, State::cached);
        return true;
    }

    AllocatorBlocks& blocks_;
    Ledger& ledger_;
    Shape shape_;
};

}  // namespace hpo::allocator
