// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hpo/allocator/blocks.hpp"
#include "hpo/allocator/expandable_segments.hpp"
#include "hpo/allocator/settings.hpp"

namespace hpo::allocator {

/// What an allocator has handed out, as LibTorch counts it. All in bytes.
struct AllocatorCounts {
    std::int64_t requested = 0;  ///< requested sizes of live blocks
    std::int64_t allocated = 0;  ///< sizes of live blocks: rounded, plus rests that were too small to split off
    std::int64_t reserved = 0;   ///< taken from the device
    std::int64_t requested_peak = 0;
    std::int64_t allocated_peak = 0;
    std::int64_t reserved_peak = 0;
    std::int64_t retries = 0;  ///< how often the whole cache was given back to the device before another try
    friend bool operator==(const AllocatorCounts&, const AllocatorCounts&) = default;
};

/// Memory that the allocator took from the device or gave back to it: a whole segment, or pages of an expandable one.
struct SegmentChange {
    bool taken = false;
    std::uint64_t address = 0;
    std::int64_t bytes = 0;
    friend auto operator<=>(const SegmentChange&, const SegmentChange&) = default;
};

/// A model of LibTorch's caching allocator for CUDA. It decides which block a request gets, when segments are taken and given back, and
/// when memory runs out. Each stream has its own cached blocks. A private pool, as a CUDA graph has it, is a stream of its own that keeps
/// its segments.
///
/// Thread safety: none. Deterministic; copies are independent.
///
/// Design note: of two cached blocks of one size, the allocator takes the one with the lower address. But the addresses that a driver gives
/// to segments are unknown without the device. Here each new segment lies above the earlier ones, or at an address from a seed.
class CachingAllocator {
public:
    using Index = AllocatorBlocks::Index;
    using State = AllocatorBlock::State;

    explicit CachingAllocator(const AllocatorSettings& settings, const AllocatorDevice& device = {})
        : settings_{settings}, device_{device}, ledger_{device} {
        if (settings.memory_fraction)
            allowed_ = static_cast<std::int64_t>(*settings.memory_fraction * static_cast<double>(device.total_bytes));
    }

    /// Takes a block for `bytes`, above 0. Returns nullopt if the device has no space for it even after the cache is given back.
    [[nodiscard]] std::optional<Index> take(std::int64_t bytes, std::uint32_t stream = 0);
    void give_back(Index block);
    /// True if a cached block would serve such a request.
    [[nodiscard]] bool has_cached(std::int64_t bytes, std::uint32_t stream = 0) const;
    /// Gives back to the device what torch.cuda.empty_cache() does: each cached segment, or page, without a live block.
    void empty_cache();
    [[nodiscard]] AllocatorCounts counts() const;
    /// The first address of a block.
    [[nodiscard]] std::uint64_t address(Index block) const {
        return blocks_[block].segment + static_cast<std::uint64_t>(blocks_[block].offset);
    }

    [[nodiscard]] const AllocatorBlock& block(Index block) const { return blocks_[block]; }
    /// All blocks, the cached and the unmapped ones among them, by address.
    [[nodiscard]] std::vector<Index> layout() const { return blocks_.by_address(); }

    /// A segment that is there before the first request. `blocks` lie beside each other from its beginning on; of each, `bytes`, `state`
    /// and, if it is taken, `requested_bytes` count. Returns their indexes. The peaks count from here on.
    std::vector<Index> adopt(const AllocatorBlock& segment, std::span<const AllocatorBlock> blocks);
    /// The address of what is taken from the device from now on; nullopt: above all that was taken. A request takes at most one segment.
    void place_next(std::optional<std::uint64_t> address) { ledger_.next_address = address; }
    /// What the device answers to the next requests for memory, true if it grants them. After these its capacity decides.
    void answer_next(std::vector<bool> answers);
    /// empty_cache() and a retry leave this stream's cached memory alone: it is a private pool.
    void keep(std::uint32_t stream);
    /// From now on changes() tells what is taken from the device and given back.
    void watch() { ledger_.watched = true; }
    /// The changes since this was last called, in their order.
    [[nodiscard]] std::vector<SegmentChange> changes() { return std::exchange(ledger_.changes, {}); }
    /// The capacities, in bytes of the whole device, with which everything until now would have gone the same way. Only the device's own
    /// with a memory fraction, and where an expandable segment was too small, which depends on the capacity.
    struct SameWith {
        std::int64_t from = 0;
        std::int64_t to = 0;
    };
    [[nodiscard]] SameWith same_with() const;

private:
    struct Ledger {
        explicit Ledger(const AllocatorDevice& device) : room{device.total_bytes - device.outside_bytes}, order{device.address_order} {}
        [[nodiscard]] bool take(std::int64_t bytes);
        void give_back(std::int64_t bytes) { reserved -= bytes; }
        [[nodiscard]] std::uint64_t next_segment();
        void reach(std::int64_t bytes) const { reached = std::max(reached, bytes); }
        void note(bool taken, const AllocatorBlock& block) {
            if (watched) changes.push_back({taken, block.segment + static_cast<std::uint64_t>(block.offset), block.bytes});
        }

        std::int64_t room;
        std::uint64_t order;
        std::int64_t reserved = 0;
        std::int64_t peak = 0;
        std::int64_t granted = 0;
        std::int64_t refused = std::numeric_limits<std::int64_t>::max();
        mutable std::int64_t reached = 0;  ///< expandable segments of so many bytes would have made no difference so far
        std::uint64_t segments = 0;
        std::optional<std::uint64_t> next_address{};
        std::vector<bool> answers{};  ///< the next one last
        bool watched = false;
        std::vector<SegmentChange> changes{};
    };
    /// The pool that a request is served from.
    struct Place {
        std::uint32_t stream = 0;
        bool small = false;
    };

    /// The best fit among the cached blocks of a rounded size; none if there is no fit.
    [[nodiscard]] Index best_fit(std::int64_t size, Place place) const;
    /// Takes the best fit.
    [[nodiscard]] Index cached(std::int64_t size, Place place);
    /// True if a block and the hole behind it are smaller than another with its hole. The hole at a segment's end is as large as the
    /// segment lets it be, so it is noted how large that must be for this answer.
    [[nodiscard]] bool smaller_with_hole(Index block, Index than) const;

    /// Takes a block in memory from the device, if necessary after giving back cached memory. Returns none if the device refuses.
    [[nodiscard]] Index fresh(std::int64_t size, Place place);
    [[nodiscard]] Index asked(std::int64_t size, Place place);
    [[nodiscard]] ExpandableSegments<Ledger> expandable(Place place);

    void release_segment(Index block);
    /// Gives back every cached block that is a whole segment. With expandable segments, gives back every page without a live block.
    void release(bool small);
    [[nodiscard]] bool kept(Index block) const { return blocks_[block].stream < kept_.size() && kept_[blocks_[block].stream]; }
    /// With max_split_bytes: gives back the smallest cached oversize block that is large enough. If there is none, gives back several, the
    /// largest first. Returns true if that is enough for `size`.
    [[nodiscard]] bool release_oversize(std::int64_t size, Place place);
    /// Above the threshold: gives back cached whole segments of the large pool whose age is at least the mean, until enough is reclaimed. A
    /// block's age is the number of searches of its pool since it became cached.
    void collect_garbage();

    AllocatorSettings settings_;
    AllocatorDevice device_;
    Ledger ledger_;
    std::optional<std::int64_t> allowed_;
    AllocatorBlocks blocks_;
    AllocatorCounts counts_;
    std::vector<bool> kept_;  ///< by stream
};

}  // namespace hpo::allocator
