// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hpo/allocator/blocks.hpp"

namespace hpo::allocator {

/// One pool's memory with expandable_segments: address space that is reserved once, and pages that are mapped into it when they are needed.
/// `Ledger` counts the device's bytes. It has `bool take(bytes)`, which returns false if the device has too few, `void give_back(bytes)`
/// and `uint64_t next_segment()`.
template <class Ledger>
class ExpandableSegments {
public:
    using Index = AllocatorBlocks::Index;
    using State = AllocatorBlock::State;
    struct Shape {
        bool small = false;
        std::int64_t page_bytes = 0;   ///< size of one page
        std::int64_t space_bytes = 0;  ///< size of one segment; rounded up to pages
    };
    ExpandableSegments(AllocatorBlocks& blocks, Ledger& ledger, Shape shape) : blocks_{blocks}, ledger_{ledger}, shape_{shape} {}

    /// Takes a block of at least `bytes` and maps the pages that are missing. Returns none if the device refuses a page. Pages that were
    /// mapped until then stay cached.
    [[nodiscard]] Index take(std::int64_t bytes) {
        Index block = room(bytes);
        if (blocks_[block].state == State::unmapped && !map(block, std::min(blocks_[block].bytes, bytes))) return AllocatorBlocks::none;
        while (blocks_[block].bytes < bytes) {
            const Index behind = blocks_[block].next;
            if (!map(behind, std::min(bytes - blocks_[block].bytes, blocks_[behind].bytes))) return AllocatorBlocks::none;
            block = behind;  // it has merged with the block before it
        }
        blocks_.take(block);
        return block;
    }
    /// Unmaps every page without a live block.
    void release() {
        std::vector<Index> cached;
        for (const AllocatorBlocks::BestFit& each : blocks_.pool(shape_.small).cached) cached.push_back(each.block);
        for (const Index block : cached) unmap(block);
    }

private:
    /// The first run of cached and unmapped blocks, by address, that is large enough.
    [[nodiscard]] Index room(std::int64_t bytes) {
        for (const AllocatorBlocks::ByAddress& hole : blocks_.pool(shape_.small).unmapped) {
            const Index before = blocks_[hole.block].previous;
            const Index first = before != AllocatorBlocks::none && blocks_[before].state == State::cached ? before : hole.block;
            std::int64_t found = 0;
            for (Index each = first; found < bytes && each != AllocatorBlocks::none && blocks_[each].state != State::taken;
                 each = blocks_[each].next) {
                found += blocks_[each].bytes;
            }
            if (found >= bytes) return first;
        }
        const std::int64_t space = (shape_.space_bytes + shape_.page_bytes - 1) / shape_.page_bytes * shape_.page_bytes;
        const Index added = blocks_.add({.bytes = space, .segment = ledger_.next_segment(), .small = shape_.small});
        blocks_.put(added, State::unmapped);
        return added;
    }
    [[nodiscard]] bool map(Index block, std::int64_t bytes) {
        const std::int64_t mapped = (bytes + shape_.page_bytes - 1) / shape_.page_bytes * shape_.page_bytes;
        if (!ledger_.take(mapped)) return false;
        blocks_.take(block);
        if (mapped < blocks_[block].bytes) blocks_.put(blocks_.split(block, mapped), State::unmapped);
        blocks_.merge(block, State::cached);
        blocks_.put(block, State::cached);
        return true;
    }
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
        blocks_.merge(block, State::unmapped);
        if (blocks_[block].whole_segment()) blocks_.drop(block);
        else blocks_.put(block, State::unmapped);
    }

    AllocatorBlocks& blocks_;
    Ledger& ledger_;
    Shape shape_;
};

}  // namespace hpo::allocator
