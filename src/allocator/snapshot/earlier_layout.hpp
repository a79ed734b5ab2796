// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "allocator/snapshot/event_sorter.hpp"
#include "hpo/allocator/settings.hpp"
#include "hpo/allocator/snapshot/device_history.hpp"
#include "hpo/allocator/snapshot/snapshot.hpp"

namespace hpo::allocator {

/// Works out where the blocks from before a recording ended, and so the segments at its beginning.
class EarlierLayout {
public:
    EarlierLayout(SortedEvents events, std::span<const Event> recorded, const AllocatorSettings& settings)
        : events_{std::move(events)}, recorded_{recorded}, settings_{settings}, result_{std::move(events_.history)} {}

    [[nodiscard]] DeviceHistory lay_out() {
        if (result_.expandable) lay_out_expandable();
        lay_out_segments();
        for (const EarlierSegment& each : result_.earlier) {
            for (const AllocatorBlock& part : each.parts) {
                if (part.state != AllocatorBlock::State::unmapped) result_.earlier_reserved_bytes += part.bytes;
                if (part.state == AllocatorBlock::State::taken) result_.earlier_allocated_bytes += part.bytes;
            }
        }
        return std::move(result_);
    }

private:
    struct Part {
        std::uint64_t from = 0;
        std::uint64_t behind = 0;
        AllocatorBlock::State state = AllocatorBlock::State::cached;
    };

    void lay_out_segments() {
        std::ranges::sort(events_.earlier_segments, {}, &WholeSegment::address);
        for (const WholeSegment& each : events_.earlier_segments) {
            const std::uint64_t behind = each.address + static_cast<std::uint64_t>(each.bytes);
            divide({.segment = each.address, .stream = each.pool, .small = each.bytes <= small_segment_bytes}, {{each.address, behind}});
        }
        // A block from before that lies in no segment from before: an event is missing.
        for (std::size_t i = 0; i < events_.earlier_blocks; ++i) {
            if (result_.blocks[i].bytes == 0) ++result_.contradictions;
        }
    }

    /// A run of addresses that belongs to one pool and size class.
    struct Mark {
        std::uint64_t address = 0;
        std::uint32_t pool = 0;
        bool small = false;
    };
    [[nodiscard]] std::vector<Mark> expandable_marks() const {
        std::vector<Mark> marks;
        for (const MappedPages& each : events_.pages) {
            if (each.small) marks.push_back({each.from, each.pool, *each.small});
        }
        for (const RecordedBlock& each : result_.blocks) {
            if (each.address != 0 && events_.ever_mapped.contains(each.address))
                marks.push_back({each.address, each.pool, settings_.rounded(each.requested_bytes) <= largest_small_bytes});
        }
        std::ranges::sort(marks, {}, &Mark::address);
        // Of pages without a block only the size tells.
        std::vector<Mark> others;
        for (const MappedPages& each : events_.pages) {
            const auto at = std::ranges::lower_bound(marks, each.from, {}, &Mark::address);
            if (at == marks.end() || at->address >= each.behind)
                others.push_back(
                    {each.from, each.pool, (each.behind - each.from) % static_cast<std::uint64_t>(settings_.large_segment_bytes) != 0});
        }
        marks.insert(marks.end(), others.begin(), others.end());
        std::ranges::sort(marks, {}, &Mark::address);
        return marks;
    }
    /// Pages are mapped behind others that are mapped, or at the beginning of a segment.
    [[nodiscard]] std::set<std::uint64_t> mapped_beginnings() const {
        std::set<std::uint64_t> beginnings;
        AddressRanges now = events_.earlier_pages;
        for (const Event& each : recorded_) {
            const std::uint64_t behind = each.address + static_cast<std::uint64_t>(each.bytes);
            if (each.action == Event::Action::unmap_pages) now.remove(each.address, behind);
            if (each.action != Event::Action::map_pages) continue;
            const auto at = now.all().upper_bound(each.address);
            if (at == now.all().begin() || std::prev(at)->second != each.address) beginnings.insert(each.address);
            now.add(each.address, behind);
        }
        return beginnings;
    }

    /// The lowest beginning of pages that contain an address.
    [[nodiscard]] std::uint64_t begin_of_pages(std::uint64_t address) const {
        std::uint64_t begin = address;
        for (auto at = std::ranges::upper_bound(events_.pages, address, {}, &MappedPages::from); at != events_.pages.begin();) {
            --at;
            if (address < at->behind) begin = std::min(begin, at->from);
            if (highest_behind_[static_cast<std::size_t>(at - events_.pages.begin())] <= address) break;
        }
        return begin;
    }

    /// One expandable segment for each run of addresses of one pool and size class.
    void lay_out_expandable() {
        const std::set<std::uint64_t> beginnings = mapped_beginnings();
        std::ranges::sort(events_.pages, {}, &MappedPages::from);
        for (const MappedPages& each : events_.pages)
            highest_behind_.push_back(highest_behind_.empty() ? each.behind : std::max(highest_behind_.back(), each.behind));
        std::vector<Mark> groups;
        for (const Mark& each : expandable_marks()) {
            bool same = !groups.empty() && groups.back().pool == each.pool && groups.back().small == each.small;
            if (same) {
                const auto next = beginnings.upper_bound(groups.back().address);
                same = next == beginnings.end() || *next > each.address;
            }
            if (same) continue;
            Mark group = each;
            group.address = begin_of_pages(each.address);
            groups.push_back(group);
        }
        for (std::size_t g = 0; g < groups.size(); ++g) {
            const std::uint64_t base = groups[g].address;
            const std::uint64_t end = g + 1 < groups.size() ? groups[g + 1].address : base + (std::uint64_t{1} << 42U);
            std::vector<Part> ranges;
            std::uint64_t done = base;
            const auto& earlier = events_.earlier_pages.all();
            for (auto at = earlier.lower_bound(base); at != earlier.end() && at->first < end; ++at) {
                const auto [from, behind] = *at;
                if (from > done) ranges.push_back({done, from, AllocatorBlock::State::unmapped});
                done = std::min(behind, end);
                ranges.push_back({from, done});
            }
            if (ranges.empty()) continue;
            ranges.push_back({done, end, AllocatorBlock::State::unmapped});
            divide({.segment = base, .stream = groups[g].pool, .small = groups[g].small}, ranges);
        }
        for (Request& each : result_.requests) {
            if (each.segment == 0) continue;
            const auto at = std::ranges::upper_bound(groups, each.segment, {}, &Mark::address);
            if (at != groups.begin() && events_.ever_mapped.contains(each.segment)) each.segment = std::prev(at)->address;
        }
    }

    /// Divides a segment from before among its blocks from before.
    void divide(const AllocatorBlock& segment, const std::vector<Part>& ranges) {
        EarlierSegment laid{segment, {}, {}};
        const std::span<RecordedBlock> earlier = std::span{result_.blocks}.first(events_.earlier_blocks);
        const auto add = [&](std::uint64_t from, std::uint64_t behind, AllocatorBlock::State state, std::size_t block) {
            if (from >= behind) return;
            AllocatorBlock part{.bytes = static_cast<std::int64_t>(behind - from), .state = state};
            if (block != no_event) part.requested_bytes = result_.blocks[block].requested_bytes;
            laid.parts.push_back(part);
            laid.blocks.push_back(block);
        };
        for (const Part& range : ranges) {
            if (range.state == AllocatorBlock::State::unmapped) {
                add(range.from, range.behind, range.state, no_event);
                continue;
            }
            std::uint64_t done = range.from;
            for (auto at = std::ranges::lower_bound(earlier, range.from, {}, &RecordedBlock::address);
                 at != earlier.end() && at->address < range.behind; ++at) {
                if (at->address < done) {  // two blocks of one place: an event is missing
                    ++result_.contradictions;
                    at->bytes = 1;
                    continue;
                }
                const auto next = std::next(at);
                const bool last = next == earlier.end() || next->address >= range.behind;
                const std::uint64_t behind = behind_block(*at, last ? range.behind : next->address, segment.small);
                at->bytes = static_cast<std::int64_t>(behind - at->address);
                at->pool = segment.stream;
                add(done, at->address, AllocatorBlock::State::cached, no_event);
                add(at->address, behind, AllocatorBlock::State::taken, static_cast<std::size_t>(at - earlier.begin()));
                done = behind;
            }
            add(done, range.behind, AllocatorBlock::State::cached, no_event);
        }
        result_.earlier.push_back(std::move(laid));
    }

    /// The end of a block from before, at most `limit`, where the next one begins.
    [[nodiscard]] std::uint64_t behind_block(const RecordedBlock& block, std::uint64_t limit, bool small) {
        if (block.bytes > 0) return std::min(limit, block.address + static_cast<std::uint64_t>(block.bytes));
        const std::int64_t size = settings_.rounded(block.requested_bytes);
        const std::uint64_t least = std::min(limit, block.address + static_cast<std::uint64_t>(size));
        if (small || settings_.expandable_segments) return least;
        if (limit - least <= static_cast<std::uint64_t>(largest_small_bytes)) return limit;
        if (size >= settings_.max_split_bytes) return limit;
        for (auto taken = std::ranges::lower_bound(by_address(), least, {}, [&](std::size_t i) { return result_.blocks[i].address; });
             taken != by_address().end(); ++taken) {
            const RecordedBlock& other = result_.blocks[*taken];
            if (other.address > least + static_cast<std::uint64_t>(largest_small_bytes)) break;
            if (other.taken < block.given_back && other.address < limit) return other.address;
        }
        ++result_.uncertain_blocks;
        return least;
    }
    /// The blocks that were taken in the recording, by address, the earliest of one address first.
    [[nodiscard]] const std::vector<std::size_t>& by_address() {
        if (by_address_.empty() && events_.earlier_blocks < result_.blocks.size()) {
            for (std::size_t i = events_.earlier_blocks; i < result_.blocks.size(); ++i) by_address_.push_back(i);
            std::ranges::stable_sort(by_address_, {}, [&](std::size_t i) { return result_.blocks[i].address; });
        }
        return by_address_;
    }

    SortedEvents events_;
    std::span<const Event> recorded_;
    const AllocatorSettings& settings_;
    DeviceHistory result_;
    std::vector<std::size_t> by_address_;
    std::vector<std::uint64_t> highest_behind_;  ///< of the pages up to each
};

}  // namespace hpo::allocator
