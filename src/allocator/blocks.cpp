// SPDX-License-Identifier: MIT
#include "hpo/allocator/blocks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hpo::allocator {

AllocatorBlocks::Index AllocatorBlocks::add(const AllocatorBlock& block) {
    if (unused_.empty()) {
        blocks_.push_back(block);
        return static_cast<Index>(blocks_.size() - 1);
    }
    const Index index = unused_.back();
    unused_.pop_back();
    (*this)[index] = block;
    return index;
}

std::vector<AllocatorBlocks::Index> AllocatorBlocks::by_address() const {
    std::vector<bool> dropped(blocks_.size());
    for (const Index each : unused_) dropped[static_cast<std::size_t>(each)] = true;
    std::vector<Index> found;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        if (!dropped[i]) found.push_back(static_cast<Index>(i));
    }
    std::ranges::sort(found, {}, [&](Index each) { return std::pair{(*this)[each].segment, (*this)[each].offset}; });
    return found;
}

void AllocatorBlocks::put(Index index, AllocatorBlock::State state) {
    AllocatorBlock& block = (*this)[index];
    Pool& home = pool(block.small);
    block.state = state;
    block.since = home.searches;
    if (state == AllocatorBlock::State::cached) home.cached.insert({block.stream, block.bytes, block.segment, block.offset, index});
    else home.unmapped.insert({block.stream, block.segment, block.offset, index});
}

void AllocatorBlocks::take(Index index) {
    AllocatorBlock& block = (*this)[index];
    Pool& home = pool(block.small);
    if (block.state == AllocatorBlock::State::cached) home.cached.erase({block.stream, block.bytes, block.segment, block.offset, index});
    else home.unmapped.erase({block.stream, block.segment, block.offset, index});
    block.state = AllocatorBlock::State::taken;
}

AllocatorBlocks::Index AllocatorBlocks::split(Index index, std::int64_t bytes) {
    AllocatorBlock rest = (*this)[index];
    rest.bytes -= bytes;
    rest.offset += bytes;
    rest.previous = index;
    const Index added = add(rest);
    AllocatorBlock& front = (*this)[index];
    front.bytes = bytes;
    if (front.next != none) (*this)[front.next].previous = added;
    front.next = added;
    return added;
}

void AllocatorBlocks::merge(Index index, AllocatorBlock::State state) {
    AllocatorBlock& block = (*this)[index];
    if (const Index before = block.previous; before != none && (*this)[before].state == state) {
        take(before);
        const AllocatorBlock& gone = (*this)[before];
        block.offset = gone.offset;
        block.bytes += gone.bytes;
        block.previous = gone.previous;
        if (block.previous != none) (*this)[block.previous].next = index;
        drop(before);
    }
    if (const Index after = block.next; after != none && (*this)[after].state == state) {
        take(after);
        const AllocatorBlock& gone = (*this)[after];
        block.bytes += gone.bytes;
        block.next = gone.next;
        if (block.next != none) (*this)[block.next].previous = index;
        drop(after);
    }
}

}  // namespace hpo::allocator
