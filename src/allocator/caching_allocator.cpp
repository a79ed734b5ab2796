// SPDX-License-Identifier: MIT
#include "hpo/allocator/caching_allocator.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "hpo/core/seed.hpp"

namespace hpo::allocator {

std::optional<CachingAllocator::Index> CachingAllocator::take(std::int64_t bytes, std::uint32_t stream) {
    const std::int64_t size = settings_.rounded(bytes);
    const Place place{.stream = stream, .small = size <= largest_small_bytes};
    Index block = cached(size, place);
    if (block == AllocatorBlocks::none) block = fresh(size, place);
    if (block == AllocatorBlocks::none) return std::nullopt;
    const std::int64_t rest = blocks_[block].bytes - size;
    const bool splits = place.small || settings_.expandable_segments ? rest >= smallest_block_bytes
                                                                     : size < settings_.max_split_bytes && rest > largest_small_bytes;
    if (splits) blocks_.put(blocks_.split(block, size), State::cached);
    blocks_[block].requested_bytes = bytes;
    counts_.requested += bytes;
    counts_.allocated += blocks_[block].bytes;
    counts_.requested_peak = std::max(counts_.requested_peak, counts_.requested);
    counts_.allocated_peak = std::max(counts_.allocated_peak, counts_.allocated);
    return block;
}

void CachingAllocator::give_back(Index block) {
    counts_.requested -= blocks_[block].requested_bytes;
    counts_.allocated -= blocks_[block].bytes;
    blocks_.merge(block, State::cached);
    blocks_.put(block, State::cached);
}

void CachingAllocator::empty_cache() {
    release(false);
    release(true);
}

std::vector<CachingAllocator::Index> CachingAllocator::adopt(const AllocatorBlock& segment, std::span<const AllocatorBlock> blocks) {
    std::vector<Index> adopted;
    std::int64_t offset = 0;
    for (const AllocatorBlock& each : blocks) {
        AllocatorBlock block = segment;
        block.bytes = each.bytes;
        block.offset = offset;
        block.requested_bytes = each.state == State::taken ? each.requested_bytes : 0;
        block.state = State::taken;
        block.previous = adopted.empty() ? AllocatorBlock::none : adopted.back();
        const Index added = blocks_.add(block);
        if (!adopted.empty()) blocks_[adopted.back()].next = added;
        adopted.push_back(added);
        offset += each.bytes;
        if (each.state != State::unmapped) ledger_.reserved += each.bytes;
        if (each.state == State::taken) {
            counts_.requested += each.requested_bytes;
            counts_.allocated += each.bytes;
        } else {
            blocks_.put(added, each.state);
        }
    }
    ledger_.peak = ledger_.granted = std::max(ledger_.peak, ledger_.reserved);
    counts_.requested_peak = std::max(counts_.requested_peak, counts_.requested);
    counts_.allocated_peak = std::max(counts_.allocated_peak, counts_.allocated);
    return adopted;
}

void CachingAllocator::answer_next(std::vector<bool> answers) {
    std::reverse(answers.begin(), answers.end());
    ledger_.answers = std::move(answers);
}

void CachingAllocator::keep(std::uint32_t stream) {
    if (kept_.size() <= stream) kept_.resize(stream + 1);
    kept_[stream] = true;
}

AllocatorCounts CachingAllocator::counts() const {
    AllocatorCounts counts = counts_;
    counts.reserved = ledger_.reserved;
    counts.reserved_peak = ledger_.peak;
    return counts;
}

CachingAllocator::SameWith CachingAllocator::same_with() const {
    const std::int64_t own = device_.total_bytes;
    if (settings_.memory_fraction) return {own, own};
    // A segment's space is 9/8 of the device.
    const std::int64_t spacious = settings_.expandable_segments ? (ledger_.reached + 8) / 9 * 8 + 8 : 0;
    if (spacious > own) return {own, own};
    return {.from = std::max(ledger_.granted + device_.outside_bytes, spacious),
            .to = ledger_.refused < unlimited_bytes ? ledger_.refused + device_.outside_bytes - 1 : unlimited_bytes};
}

bool CachingAllocator::Ledger::take(std::int64_t bytes) {
    bool granted_now = reserved + bytes <= room;
    if (!answers.empty()) {
        granted_now = answers.back();
        answers.pop_back();
    } else if (!granted_now) {
        refused = std::min(refused, reserved + bytes);
    }
    if (!granted_now) return false;
    reserved += bytes;
    peak = std::max(peak, reserved);
    granted = std::max(granted, reserved);
    return true;
}

std::uint64_t CachingAllocator::Ledger::next_segment() {
    if (next_address) return *next_address;
    std::uint64_t place = order + ++segments;
    return order == 0 ? place : Rng::split_mix(place);
}

bool CachingAllocator::has_cached(std::int64_t bytes, std::uint32_t stream) const {
    const std::int64_t size = settings_.rounded(bytes);
    return best_fit(size, {.stream = stream, .small = size <= largest_small_bytes}) != AllocatorBlocks::none;
}

CachingAllocator::Index CachingAllocator::best_fit(std::int64_t size, Place place) const {
    const std::set<AllocatorBlocks::BestFit>& cached = blocks_.pool(place.small).cached;
    auto found = cached.lower_bound({.stream = place.stream, .bytes = size});
    if (found == cached.end() || found->stream != place.stream) return AllocatorBlocks::none;
    if (settings_.expandable_segments) {  // a block before a hole counts together with the hole
        for (auto next = std::next(found);
             next != cached.end() && next->stream == place.stream && smaller_with_hole(next->block, found->block); ++next)
            found = next;
    }
    if (size < settings_.max_split_bytes && found->bytes >= settings_.max_split_bytes) return AllocatorBlocks::none;
    if (size >= settings_.max_split_bytes && found->bytes >= size + settings_.max_non_split_rounding_bytes) return AllocatorBlocks::none;
    return found->block;
}

bool CachingAllocator::smaller_with_hole(Index block, Index than) const {
    const auto hole = [&](Index of) {
        const Index next = blocks_[of].next;
        return next != AllocatorBlocks::none && blocks_[next].state == State::unmapped ? next : AllocatorBlocks::none;
    };
    const auto bytes = [&](Index of) { return blocks_[of].bytes + (hole(of) == AllocatorBlocks::none ? 0 : blocks_[hole(of)].bytes); };
    const auto at_end = [&](Index of) { return hole(of) != AllocatorBlocks::none && blocks_[hole(of)].next == AllocatorBlocks::none; };
    const bool smaller = bytes(block) < bytes(than);
    if (at_end(than) && !at_end(block) && smaller) ledger_.reach(blocks_[than].offset + bytes(block) + 1);
    else if (at_end(block) && !at_end(than) && !smaller) ledger_.reach(blocks_[block].offset + bytes(than));
    else if (at_end(block) || at_end(than)) ledger_.reach(unlimited_bytes);
    return smaller;
}

CachingAllocator::Index CachingAllocator::cached(std::int64_t size, Place place) {
    ++blocks_.pool(place.small).searches;
    const Index block = best_fit(size, place);
    if (block != AllocatorBlocks::none) blocks_.take(block);
    return block;
}

CachingAllocator::Index CachingAllocator::fresh(std::int64_t size, Place place) {
    if (allowed_ && settings_.garbage_collection_threshold > 0) collect_garbage();
    Index block = asked(size, place);
    if (block == AllocatorBlocks::none && release_oversize(size, place)) block = asked(size, place);
    if (block == AllocatorBlocks::none) {
        empty_cache();
        ++counts_.retries;
        block = asked(size, place);
    }
    return block;
}

CachingAllocator::Index CachingAllocator::asked(std::int64_t size, Place place) {
    const std::int64_t segment = settings_.segment(size);
    if (allowed_ && ledger_.reserved + segment > *allowed_) return AllocatorBlocks::none;
    if (settings_.expandable_segments) return expandable(place).take(size);
    if (!ledger_.take(segment)) return AllocatorBlocks::none;
    const Index added = blocks_.add({.bytes = segment, .segment = ledger_.next_segment(), .stream = place.stream, .small = place.small});
    ledger_.note(true, blocks_[added]);
    return added;
}

ExpandableSegments<CachingAllocator::Ledger> CachingAllocator::expandable(Place place) {
    return {blocks_,
            ledger_,
            {.stream = place.stream,
             .small = place.small,
             .page_bytes = place.small ? small_segment_bytes : settings_.large_segment_bytes,
             .space_bytes = device_.total_bytes + device_.total_bytes / 8}};
}

void CachingAllocator::release_segment(Index block) {
    blocks_.take(block);
    ledger_.give_back(blocks_[block].bytes);
    ledger_.note(false, blocks_[block]);
    blocks_.drop(block);
}

void CachingAllocator::release(bool small) {
    const std::set<AllocatorBlocks::BestFit>& cached = blocks_.pool(small).cached;
    if (settings_.expandable_segments) {
        std::vector<Index> blocks;  // what is unmapped changes the set
        for (const AllocatorBlocks::BestFit& each : cached) blocks.push_back(each.block);
        for (const Index block : blocks) {
            if (!kept(block)) expandable({.stream = blocks_[block].stream, .small = small}).unmap(block);
        }
        return;
    }
    for (auto each = cached.begin(); each != cached.end();) {
        const Index block = (each++)->block;
        if (blocks_[block].whole_segment() && !kept(block)) release_segment(block);
    }
}

bool CachingAllocator::release_oversize(std::int64_t size, Place place) {
    if (settings_.max_split_bytes == std::numeric_limits<std::int64_t>::max() || settings_.expandable_segments) return false;
    const std::set<AllocatorBlocks::BestFit>& cached = blocks_.pool(place.small).cached;
    const std::int64_t wanted = std::max(size, settings_.max_split_bytes);
    const auto fits = cached.lower_bound({.stream = place.stream, .bytes = wanted});
    if (fits != cached.end() && fits->stream == place.stream && blocks_[fits->block].whole_segment()) {
        release_segment(fits->block);
        return true;
    }
    std::int64_t released = 0;
    while (released < wanted) {
        const auto behind = cached.lower_bound({.stream = place.stream, .bytes = std::numeric_limits<std::int64_t>::max()});
        if (behind == cached.begin()) break;
        const AllocatorBlocks::BestFit largest = *std::prev(behind);
        if (largest.stream != place.stream || largest.bytes < settings_.max_split_bytes || !blocks_[largest.block].whole_segment()) break;
        released += largest.bytes;
        release_segment(largest.block);
    }
    return released >= wanted;
}

void CachingAllocator::collect_garbage() {
    const auto threshold = static_cast<std::int64_t>(settings_.garbage_collection_threshold * static_cast<double>(*allowed_));
    if (ledger_.reserved <= threshold) return;
    const std::int64_t target = ledger_.reserved - threshold;
    AllocatorBlocks::Pool& pool = blocks_.pool(false);
    const auto collectable = [&](Index block) { return !settings_.expandable_segments && blocks_[block].whole_segment() && !kept(block); };
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
