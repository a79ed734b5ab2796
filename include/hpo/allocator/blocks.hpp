// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

namespace hpo::allocator {

/// A run of bytes inside a segment of the device's memory.
struct AllocatorBlock {
    static constexpr std::int32_t none = -1;
    enum class State : std::uint8_t { taken, cached, unmapped };

    std::int64_t bytes = 0;
    std::int64_t requested_bytes = 0;
    std::uint64_t segment = 0;  ///< its segment's first address, or only its position in the order of addresses
    std::int64_t offset = 0;    ///< inside the segment
    std::uint64_t since = 0;    ///< the number of searches in its pool when it was last put there
    std::int32_t previous = none;
    std::int32_t next = none;
    std::uint32_t stream = 0;  ///< its number; a stream takes only blocks of its own
    State state = State::taken;
    bool small = false;

    [[nodiscard]] bool whole_segment() const { return previous == none && next == none; }
};

/// The segments of one caching allocator, divided into blocks, and the sets of its cached and its unmapped blocks.
///
/// Thread safety: none. Copies are independent.
class AllocatorBlocks {
public:
    using Index = std::int32_t;
    static constexpr Index none = AllocatorBlock::none;
    struct BestFit {  ///< by stream, smallest first, then by address
        std::uint32_t stream = 0;
        std::int64_t bytes = 0;
        std::uint64_t segment = 0;
        std::int64_t offset = 0;
        Index block = none;
        bool operator<(const BestFit& other) const {
            return std::tie(stream, bytes, segment, offset, block) <
                   std::tie(other.stream, other.bytes, other.segment, other.offset, other.block);
        }
    };
    struct ByAddress {  ///< by stream, then by address
        std::uint32_t stream = 0;
        std::uint64_t segment = 0;
        std::int64_t offset = 0;
        Index block = none;
        bool operator<(const ByAddress& other) const {
            return std::tie(stream, segment, offset, block) < std::tie(other.stream, other.segment, other.offset, other.block);
        }
    };
    /// The small or the large pool.
    struct Pool {
        std::set<BestFit> cached;
        std::set<ByAddress> unmapped;
        std::uint64_t searches = 0;
    };

    [[nodiscard]] AllocatorBlock& operator[](Index block) { return blocks_[static_cast<std::size_t>(block)]; }
    [[nodiscard]] const AllocatorBlock& operator[](Index block) const { return blocks_[static_cast<std::size_t>(block)]; }
    [[nodiscard]] Pool& pool(bool small) { return small ? small_ : large_; }
    [[nodiscard]] const Pool& pool(bool small) const { return small ? small_ : large_; }

    [[nodiscard]] Index add(const AllocatorBlock& block);
    void drop(Index block) { unused_.push_back(block); }
    /// All blocks, by address.
    [[nodiscard]] std::vector<Index> by_address() const;

    /// Puts a block that is in no set into the set of `state`.
    void put(Index index, AllocatorBlock::State state);
    /// Takes a block out of its set.
    void take(Index index);

    /// Splits a taken block after its first `bytes`. Returns the rest, which is taken, too.
    [[nodiscard]] Index split(Index index, std::int64_t bytes);
    /// Merges a taken block with those of its two neighbours that are in the set of `state`.
    void merge(Index index, AllocatorBlock::State state);

private:
    std::vector<AllocatorBlock> blocks_;
    std::vector<Index> unused_;
    Pool small_;
    Pool large_;
};

}  // namespace hpo::allocator
