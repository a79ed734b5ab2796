// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

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
    [[nodiscard]] std::optional<Index> take(std::int64_t bytes);
    void give_back(Index block);
    [[nodiscard]] AllocatorCounts counts() const;
    /// The highest sum that the device granted and the lowest that it refused: it would have answered the same with every capacity
    /// between them. Without a memory fraction and without expandable segments nothing else depends on the capacity.
    [[nodiscard]] std::int64_t highest_granted() const { return ledger_.granted; }
    [[nodiscard]] std::int64_t lowest_refused() const { return ledger_.refused; }

private:
    struct Ledger {
        explicit Ledger(const AllocatorDevice& device) : room{device.total_bytes - device.outside_bytes}, order{device.address_order} {}
        [[nodiscard]] bool take(std::int64_t bytes);
        void give_back(std::int64_t bytes) { reserved -= bytes; }
        [[nodiscard]] std::uint64_t next_segment();

        std::int64_t room;
        std::uint64_t order;
        std::int64_t reserved = 0;
        std::int64_t peak = 0;
        std::int64_t granted = 0;
        std::int64_t refused = std::numeric_limits<std::int64_t>::max();
        std::uint64_t segments = 0;
    };

    /// The best fit among what is cached, taken; or none.
    [[nodiscard]] Index cached(std::int64_t size, bool small);
    [[nodiscard]] std::int64_t with_hole(Index block) const {
        const Index next = blocks_[block].next;
        return blocks_[block].bytes + (next != AllocatorBlocks::none && blocks_[next].state == State::unmapped ? blocks_[next].bytes : 0);
    }

    /// A taken block in memory that the device gives, if need be after what is cached went back; or none.
    [[nodiscard]] Index fresh(std::int64_t size, bool small);
    [[nodiscard]] Index asked(std::int64_t size, bool small);
    [[nodiscard]] ExpandableSegments<Ledger> expandable(bool small);

    void release_segment(Index block);
    /// Gives back every cached block that is a whole segment; with expandable segments every page that holds nothing.
    void release(bool small);
    /// With max_split_bytes: gives back the first cached block that is too large to be split and large enough, or several, the largest
    /// first. Whether that makes room for `size`.
    [[nodiscard]] bool release_oversize(std::int64_t size, bool small);
    /// Above the threshold: gives back cached whole segments of the large pool whose age is at least the mean, until enough is reclaimed.
    /// A block's age is the number of searches of its pool since it was put there.
    void collect_garbage();

    AllocatorSettings settings_;
    AllocatorDevice device_;
    Ledger ledger_;
    std::optional<std::int64_t> allowed_;
    AllocatorBlocks blocks_;
    AllocatorCounts counts_;
};

}  // namespace hpo::memory

#ifndef HPO_COMPILED
#include "hpo/memory/impl/caching_allocator_inl.hpp"
#endif
