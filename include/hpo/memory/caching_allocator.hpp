// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <set>

#include "hpo/core/seed.hpp"
#include "hpo/memory/allocator_blocks.hpp"
#include "hpo/memory/allocator_settings.hpp"
#include "hpo/memory/expandable_segments.hpp"

namespace hpo::memory {

/// What an allocator has handed out, as LibTorch counts it. All bytes.
struct AllocatorCounts {
    std::int64_t requested = 0;  ///< what live blocks were asked for
    std::int64_t allocated = 0;  ///< the same, rounded, with what was too little to be split off
    std::int64_t reserved = 0;   ///< taken from the device
    std::int64_t requested_peak = 0;
    std::int64_t allocated_peak = 0;
    std::int64_t reserved_peak = 0;
    std::int64_t retries = 0;  ///< how often all that was cached had to go back to the device before it was asked again
    friend bool operator==(const AllocatorCounts&, const AllocatorCounts&) = default;
};

/// A model of LibTorch's caching allocator for CUDA: which block a request gets, when segments are taken and given back, and when it runs
/// out of memory. One stream, no graphs.
///
/// Thread safety: none. Deterministic; copies are independent.
///
/// Design note: the addresses that a driver gives to segments are unknown away from the device, and they decide between cached blocks of
/// one size. Each new segment lies above the earlier ones here, or where a seed puts it.
class CachingAllocator {
public:
    using Index = AllocatorBlocks::Index;
    using State = AllocatorBlock::State;

    explicit CachingAllocator(const AllocatorSettings& settings, const AllocatorDevice& device = {})
        : settings_{settings}, device_{device}, ledger_{device} {
        if (settings.memory_fraction)
            allowed_ = static_cast<std::int64_t>(*settings.memory_fraction * static_cast<double>(device.total_bytes));
    }

    /// A block for `bytes` above 0; nothing where the device has no room for it, with what is cached given back.
    [[nodiscard]] std::optional<Index> take(std::int64_t bytes) {
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
    void give_back(Index block) {
        counts_.requested -= blocks_[block].requested_bytes;
        counts_.allocated -= blocks_[block].bytes;
        blocks_.merge(block, State::cached);
        blocks_.put(block, State::cached);
    }
    [[nodiscard]] AllocatorCounts counts() const {
        AllocatorCounts counts = counts_;
        counts.reserved = ledger_.reserved;
        counts.reserved_peak = ledger_.peak;
        return counts;
    }
    /// The highest sum that the device granted and the lowest that it refused: it would have answered the same with every capacity
    /// between them. Without a memory fraction and without expandable segments nothing else depends on the capacity.
    [[nodiscard]] std::int64_t highest_granted() const { return ledger_.granted; }
    [[nodiscard]] std::int64_t lowest_refused() const { return ledger_.refused; }

private:
    struct Ledger {
        explicit Ledger(const AllocatorDevice& device) : room{device.total_bytes - device.outside_bytes}, order{device.address_order} {}
        [[nodiscard]] bool take(std::int64_t bytes) {
            if (reserved + bytes > room) {
                refused = std::min(refused, reserved + bytes);
                return false;
            }
            reserved += bytes;
            peak = std::max(peak, reserved);
            granted = std::max(granted, reserved);
            return true;
        }
        void give_back(std::int64_t bytes) { reserved -= bytes; }
        [[nodiscard]] std::uint64_t next_segment() {
            std::uint64_t place = order + ++segments;
            return order == 0 ? place : Rng::split_mix(place);
        }

        std::int64_t room;
        std::uint64_t order;
        std::int64_t reserved = 0;
        std::int64_t peak = 0;
        std::int64_t granted = 0;
        std::int64_t refused = std::numeric_limits<std::int64_t>::max();
        std::uint64_t segments = 0;
    };

    /// The best fit among what is cached, taken; or none.
    [[nodiscard]] Index cached(std::int64_t size, bool small) {
        AllocatorBlocks::Pool& pool = blocks_.pool(small);
        ++pool.searches;
        auto found = pool.cached.lower_bound({.bytes = size});
        if (found == pool.cached.end()) return AllocatorBlocks::none;
        if (settings_.expandable_segments) {  // a block in front of a hole counts with the hole
            for (auto next = std::next(found); next != pool.cached.end() && with_hole(next->block) < with_hole(found->block); ++next)
                found = next;
        }
        if (size < settings_.max_split_bytes && found->bytes >= settings_.max_split_bytes) return AllocatorBlocks::none;
        if (size >= settings_.max_split_bytes && found->bytes >= size + settings_.max_non_split_rounding_bytes)
            return AllocatorBlocks::none;
        const Index block = found->block;
        blocks_.take(block);
        return block;
    }
    [[nodiscard]] std::int64_t with_hole(Index block) const {
        const Index next = blocks_[block].next;
        return blocks_[block].bytes + (next != AllocatorBlocks::none && blocks_[next].state == State::unmapped ? blocks_[next].bytes : 0);
    }

    /// A taken block in memory that the device gives, if need be after what is cached went back; or none.
    [[nodiscard]] Index fresh(std::int64_t size, bool small) {
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
    [[nodiscard]] Index asked(std::int64_t size, bool small) {
        const std::int64_t segment = settings_.segment(size);
        if (allowed_ && ledger_.reserved + segment > *allowed_) return AllocatorBlocks::none;
        if (settings_.expandable_segments) return expandable(small).take(size);
        if (!ledger_.take(segment)) return AllocatorBlocks::none;
        return blocks_.add({.bytes = segment, .segment = ledger_.next_segment(), .small = small});
    }
    [[nodiscard]] ExpandableSegments<Ledger> expandable(bool small) {
        return {blocks_,
                ledger_,
                {.small = small,
                 .page_bytes = small ? small_segment_bytes : settings_.large_segment_bytes,
                 .space_bytes = device_.total_bytes + device_.total_bytes / 8}};
    }

    void release_segment(Index block) {
        blocks_.take(block);
        ledger_.give_back(blocks_[block].bytes);
        blocks_.drop(block);
    }
    /// Gives back every cached block that is a whole segment; with expandable segments every page that holds nothing.
    void release(bool small) {
        if (settings_.expandable_segments) return expandable(small).release();
        const std::set<AllocatorBlocks::BestFit>& cached = blocks_.pool(small).cached;
        for (auto each = cached.begin(); each != cached.end();) {
            const Index block = (each++)->block;
            if (blocks_[block].whole_segment()) release_segment(block);
        }
    }
    /// With max_split_bytes: gives back the first cached block that is too large to be split and large enough, or several, the largest
    /// first. Whether that makes room for `size`.
    [[nodiscard]] bool release_oversize(std::int64_t size, bool small) {
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
    /// Above the threshold: gives back cached whole segments of the large pool whose age is at least the mean, until enough is reclaimed.
    /// A block's age is the number of searches of its pool since it was put there.
    void collect_garbage() {
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

    AllocatorSettings settings_;
    AllocatorDevice device_;
    Ledger ledger_;
    std::optional<std::int64_t> allowed_;
    AllocatorBlocks blocks_;
    AllocatorCounts counts_;
};

}  // namespace hpo::memory
