// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <set>

#include "hpo/allocator/caching_allocator.hpp"
#include "hpo/base/inline.hpp"
#include "hpo/core/seed.hpp"

namespace hpo::allocator {

HPO_INLINE std::optional<CachingAllocator::Index> CachingAllocator::take(std::int64_t bytes) {
    const std::int64_t size = settings_.rounded(bytes);
    const bool small = size <= largest_small_bytes;
    Index block = cached(size, small);
    if (block == AllocatorBlocks::none) block = fresh(size, small);
    if (block == AllocatorBlocks::none) return std::nullopt;
    const std::int64_t rest = blocks_[block].bytes - size;
    const bool splits = small || settings_.expandable_segments ? rest >= smallest_block_bytes
                                                               : size < settings_.max_split_bytes && rest > largest_small_bytes;
    if (splits) blocks_.put(blocks_.split(block, size), State::cached);
    blocks_[block].requested_bytes = bytes;
    counts_.requested += bytes;
    counts_.allocated += blocks_[block].bytes;
    counts_.requested_peak = std::max(counts_.requested_peak, counts_.requested);
    counts_.allocated_peak = std::max(counts_.allocated_peak, counts_.allocated);
    return block;
}

HPO_INLINE void CachingAllocator::give_back(Index block) {
    counts_.requested -= blocks_[block].requested_bytes;
    counts_.allocated -= blocks_[block].bytes;
    blocks_.merge(block, State::cached);
    blocks_.put(block, State::cached);
}

HPO_INLINE AllocatorCounts CachingAllocator::counts() const {
    AllocatorCounts counts = counts_;
    counts.reserved = ledger_.reserved;
    counts.reserved_peak = ledger_.peak;
    return counts;
}

HPO_INLINE bool CachingAllocator::Ledger::take(std::int64_t bytes) {
    if (reserved + bytes > room) {
        refused = std::min(refused, reserved + bytes);
        return false;
    }
    reserved += bytes;
    peak = std::max(peak, reserved);
    granted = std::max(granted, reserved);
    return true;
}

HPO_INLINE std::uint64_t CachingAllocator::Ledger::next_segment() {
    std::uint64_t place = order + ++segments;
    return order == 0 ? place : Rng::split_mix(place);
}

HPO_INLINE CachingAllocator::Index CachingAllocator::cached(std::int64_t size, bool small) {
    AllocatorBlocks::Pool& pool = blocks_.pool(small);
    ++pool.searches;
    auto found = pool.cached.lower_bound({.bytes = size});
    if (found == pool.cached.end()) return AllocatorBlocks::none;
    if (settings_.expandable_segments) {  // a block before a hole counts together with the hole
        for (auto next = std::next(found); next != pool.cached.end() && with_hole(next->block) < with_hole(found->block); ++next)
            found = next;
    }
    if (size < settings_.max_split_bytes && found->bytes >= settings_.max_split_bytes) return AllocatorBlocks::none;
    if (size >= settings_.max_split_bytes && found->bytes >= size + settings_.max_non_split_rounding_bytes) return AllocatorBlocks::none;
    const Index block = found->block;
    blocks_.take(block);
    return block;
}

HPO_INLINE CachingAllocator::Index CachingAllocator::fresh(std::int64_t size, bool small) {
    if (allowed_ && settings_.garbage_collection_threshold > 0) collect_garbage();
    Index block = asked(size, small);
    if (block == AllocatorBlocks::none && release_oversize(size, small)) block = asked(size, small);
    if (block == AllocatorBlocks::none) {
        release(false);
        release(true);
        ++counts_.retries;
        block = asked(size, small);
    }
    return block;
}

HPO_INLINE CachingAllocator::Index CachingAllocator::asked(std::int64_t size, bool small) {
    const std::int64_t segment = settings_.segment(size);
    if (allowed_ && ledger_.reserved + segment > *allowed_) return AllocatorBlocks::none;
    if (settings_.expandable_segments) return expandable(small).take(size);
    if (!ledger_.take(segment)) return AllocatorBlocks::none;
    return blocks_.add({.bytes = segment, .segment = ledger_.next_segment(), .small = small});
}

HPO_INLINE ExpandableSegments<CachingAllocator::Ledger> CachingAllocator::expandable(bool small) {
    return {blocks_,
            ledger_,
            {.small = small,
             .page_bytes = small ? small_segment_bytes : settings_.large_segment_bytes,
             .space_bytes = device_.total_bytes + device_.total_bytes / 8}};
}

HPO_INLINE void CachingAllocator::release_segment(Index block) {
    blocks_.take(block);
    ledger_.give_back(blocks_[block].bytes);
    blocks_.drop(block);
}

HPO_INLINE void CachingAllocator::release(bool small) {
    if (settings_.expandable_segments) return expandable(small).release();
    const std::set<AllocatorBlocks::BestFit>& cached = blocks_.pool(small).cached;
    for (auto each = cached.begin(); each != cached.end();) {
        const Index block = (each++)->block;
        if (blocks_[block].whole_segment()) release_segment(block);
    }
}

HPO_INLINE bool CachingAllocator::release_oversize(std::int64_t size, bool small) {
    if (settings_.max_split_bytes == std::numeric_limits<std::int64_t>::max() || settings_.expandable_segments) return false;
    const std::set<AllocatorBlocks::BestFit>& cached = blocks_.pool(small).cached;
    const std::int64_t wanted = std::max(size, settings_.max_split_bytes);
    if (const auto fits = cached.lower_bound({.bytes = wanted}); fits != cached.end()) {
        release_segment(fits->block);
        return true;
    }
    std::int64_t released = 0;
    while (released < wanted && !cached.empty() && std::prev(cached.end())->bytes >= settings_.max_split_bytes) {
        released += std::prev(cached.end())->bytes;
        release_segment(std::prev(cached.end())->block);
    }
    return released >= wanted;
}

HPO_INLINE void CachingAllocator::collect_garbage() {
    const auto threshold = static_cast<std::int64_t>(settings_.garbage_collection_threshold * static_cast<double>(*allowed_));
    if (ledger_.reserved <= threshold) return;
    const std::int64_t target = ledger_.reserved - threshold;
    AllocatorBlocks::Pool& pool = blocks_.pool(false);
    const auto collectable = [&](Index block) { return !settings_.expandable_segments && blocks_[block].whole_segment(); };
    const auto age = [&](Index block) { return pool.searches - blocks_[block].since; };
    std::uint64_t ages = 0;
    std::uint64_t count = 0;
    for (const AllocatorBlocks::BestFit& each : pool.cached) {
        if (!collectable(each.block)) continue;
        ages += age(each.block);
        ++count;
    }
    std::int64_t reclaimed = 0;
    for (bool freed = true; reclaimed < target && freed && count > 0;) {
        const double mean = static_cast<double>(ages) / static_cast<double>(count);
        freed = false;
        for (auto each = pool.cached.begin(); each != pool.cached.end();) {
            const Index block = (each++)->block;
            if (!collectable(block) || static_cast<double>(age(block)) < mean) continue;
            freed = true;
            reclaimed += blocks_[block].bytes;
            ages -= age(block);
            --count;
            release_segment(block);
        }
    }
}

}  // namespace hpo::allocator
