// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/allocator/snapshot/device_history.hpp"
#include "hpo/allocator/snapshot/snapshot.hpp"

namespace hpo::allocator {

/// Disjoint ranges of addresses. Neighbours that touch are one.
class AddressRanges {
public:
    void add(std::uint64_t from, std::uint64_t behind) {
        auto at = ranges_.upper_bound(from);
        if (at != ranges_.begin() && std::prev(at)->second >= from) --at;
        while (at != ranges_.end() && at->first <= behind) {
            from = std::min(from, at->first);
            behind = std::max(behind, at->second);
            at = ranges_.erase(at);
        }
        ranges_.emplace(from, behind);
    }
    /// Removes a range. Returns the parts of it that were not there.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> remove(std::uint64_t from, std::uint64_t behind) {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> missing;
        auto at = ranges_.upper_bound(from);
        if (at != ranges_.begin()) --at;
        std::uint64_t done = from;
        while (at != ranges_.end() && at->first < behind) {
            const auto [begin, end] = *at;
            if (end <= from) {
                ++at;
                continue;
            }
            if (begin > done) missing.emplace_back(done, begin);
            done = std::min(end, behind);
            at = ranges_.erase(at);
            if (begin < from) ranges_.emplace(begin, from);
            if (end > behind) at = ranges_.emplace(behind, end).first;
        }
        if (done < behind) missing.emplace_back(done, behind);
        return missing;
    }
    [[nodiscard]] bool contains(std::uint64_t address) const {
        const auto at = ranges_.upper_bound(address);
        return at != ranges_.begin() && address < std::prev(at)->second;
    }
    [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& all() const { return ranges_; }

private:
    std::map<std::uint64_t, std::uint64_t> ranges_;
};

/// A usual segment of a recording.
struct WholeSegment {
    std::uint64_t address = 0;
    std::int64_t bytes = 0;
    std::uint32_t pool = 0;  ///< index into DeviceHistory::pools
};

/// Pages of an expandable segment that were mapped at some time.
struct MappedPages {
    std::uint64_t from = 0;
    std::uint64_t behind = 0;
    std::uint32_t pool = 0;       ///< index into DeviceHistory::pools
    std::optional<bool> small{};  ///< their size class, if the state at the end tells it
};

/// A device's events as requests, and what was there before the first of them.
struct SortedEvents {
    DeviceHistory history;           ///< without `earlier`
    std::size_t earlier_blocks = 0;  ///< the first of history.blocks; their sizes are not known yet, unless they live at the end
    std::vector<WholeSegment> earlier_segments;
    AddressRanges earlier_pages;
    std::vector<MappedPages> pages;
    AddressRanges ever_mapped;
};

/// Sorts a device's events into requests. What is given back without having been taken was there before the first event, and so was what is
/// there at the end without having been taken.
class EventSorter {
public:
    EventSorter(const Snapshot& snapshot, int device) : snapshot_{snapshot}, events_{snapshot.events_of(device)} {
        history_.device = device;
    }

    [[nodiscard]] SortedEvents sort() {
        find_segment_kinds();
        find_private_pools();
        for (std::size_t i = 0; i < events_.size(); ++i) read_event(i);
        close_changes(events_.size());
        compare_with_end();
        number_blocks();
        for (const MappedPages& each : result_.pages) result_.ever_mapped.add(each.from, each.behind);
        result_.history = std::move(history_);
        return std::move(result_);
    }

private:
    [[nodiscard]] std::uint32_t pool_number(RecordedPool pool) {
        const auto [at, added] =
            pool_numbers_.try_emplace({pool.stream, pool.private_pool}, static_cast<std::uint32_t>(history_.pools.size()));
        if (added) history_.pools.push_back(pool);
        return at->second;
    }

    void find_segment_kinds() {
        bool usual = false;
        for (const Segment& each : snapshot_.segments) {
            if (each.device == history_.device) (each.expandable ? history_.expandable : usual) = true;
        }
        for (const Event& each : events_) {
            if (each.action == Event::Action::map_pages || each.action == Event::Action::unmap_pages) history_.expandable = true;
            if (each.action == Event::Action::take_segment || each.action == Event::Action::free_segment) usual = true;
        }
        history_.mixed = usual && history_.expandable;
    }
    /// Private pools are known of the segments that are there at the end.
    void find_private_pools() {
        for (const Segment& each : snapshot_.segments) {
            if (each.device == history_.device && each.private_pool != 0)
                private_[each.address] = {each.address + static_cast<std::uint64_t>(each.bytes), each.private_pool};
        }
    }
    [[nodiscard]] std::uint32_t pool_at(std::uint64_t address, std::uint64_t stream) {
        RecordedPool pool{.stream = stream};
        if (auto at = private_.upper_bound(address); at != private_.begin() && address < std::prev(at)->second.first)
            pool.private_pool = std::prev(at)->second.second;
        return pool_number(pool);
    }

    void read_event(std::size_t number) {
        const Event& event = events_[number];
        using enum Event::Action;
        switch (event.action) {
            case take: {
                Request request = take_changes(Request::Kind::take, number);
                if (const auto alive = live_.find(event.address); alive != live_.end()) {  // its end was not recorded
                    ++history_.contradictions;
                    give_back_block(alive->second, number);
                }
                request.block = history_.blocks.size();
                history_.blocks.push_back({.address = event.address,
                                           .requested_bytes = std::max<std::int64_t>(event.bytes, 1),
                                           .pool = pool_at(event.address, event.stream),
                                           .stack = event.stack,
                                           .taken = number});
                live_[event.address] = request.block;
                history_.requests.push_back(std::move(request));
                break;
            }
            case give_back: {
                close_changes(number);
                const auto alive = live_.find(event.address);
                give_back_block(alive != live_.end() ? alive->second : add_earlier(event.address, event.bytes, event.stream, {}), number);
                if (alive != live_.end()) live_.erase(alive);
                break;
            }
            case ask_back: break;
            case take_segment:
                split_changes(number);
                taken_segments_[event.address] = {event.address, event.bytes, pool_at(event.address, event.stream)};
                changes_.push_back({true, event.address, event.bytes});
                break;
            case free_segment:
                split_changes(number);
                if (taken_segments_.erase(event.address) == 0)
                    result_.earlier_segments.push_back({event.address, event.bytes, pool_at(event.address, event.stream)});
                changes_.push_back({false, event.address, event.bytes});
                break;
            case map_pages:
                split_changes(number);
                mapped_.add(event.address, event.address + static_cast<std::uint64_t>(event.bytes));
                result_.pages.push_back(
                    {event.address, event.address + static_cast<std::uint64_t>(event.bytes), pool_at(event.address, event.stream), {}});
                changes_.push_back({true, event.address, event.bytes});
                break;
            case unmap_pages:
                split_changes(number);
                for (const auto& [from, behind] : mapped_.remove(event.address, event.address + static_cast<std::uint64_t>(event.bytes))) {
                    result_.earlier_pages.add(from, behind);
                    result_.pages.push_back({from, behind, pool_at(from, event.stream), {}});
                }
                changes_.push_back({false, event.address, event.bytes});
                break;
            case out_of_memory: {
                Request request = take_changes(Request::Kind::refused, number);
                request.block = history_.blocks.size();
                history_.blocks.push_back({.requested_bytes = std::max<std::int64_t>(event.bytes, 1),
                                           .pool = pool_number({.stream = event.stream}),
                                           .stack = event.stack,
                                           .taken = number,
                                           .given_back = number});
                history_.requests.push_back(std::move(request));
                break;
            }
            case other: break;
        }
    }

    void give_back_block(std::size_t block, std::size_t number) {
        history_.blocks[block].given_back = number;
        history_.requests.push_back({.kind = Request::Kind::give_back, .block = block, .event = number});
    }

    /// True if the stack of an event says that torch.cuda.empty_cache() was called.
    [[nodiscard]] bool asked_to_empty(std::size_t number) const {
        for (const std::uint32_t each : snapshot_.stacks[events_[number].stack]) {
            const std::string_view name = snapshot_.texts[snapshot_.frames[each].function];
            if (name == "empty_cache" || name.find("emptyCache") != std::string_view::npos) return true;
        }
        return false;
    }
    /// Called before a change is added. The changes so far are a request of their own if they are the work of empty_cache() and this is
    /// not, or the other way round.
    void split_changes(std::size_t number) {
        const Event::Action action = events_[number].action;
        const bool freed = action == Event::Action::free_segment || action == Event::Action::unmap_pages;
        const bool emptied = freed && asked_to_empty(number);
        if (!changes_.empty() && emptied != emptied_) close_changes(number);
        emptied_ = emptied;
        if (changes_.empty()) explained_ = events_[number].stack != 0;
    }
    /// What was given back to the device without a request that follows: torch.cuda.empty_cache().
    void close_changes(std::size_t number) {
        if (changes_.empty()) return;
        history_.requests.push_back({.kind = Request::Kind::empty_cache, .event = number - 1, .changes = std::exchange(changes_, {})});
    }
    [[nodiscard]] Request take_changes(Request::Kind kind, std::size_t number) {
        // A retry ends with memory from the device, or with none for the program.
        const bool retried = kind == Request::Kind::refused || (!changes_.empty() && changes_.back().taken);
        if (emptied_ || !retried) close_changes(number);
        Request request{.kind = kind, .event = number, .changes = std::exchange(changes_, {})};
        for (const SegmentChange& each : request.changes) {
            if (each.taken && request.segment == 0) request.segment = each.address;
        }
        request.unexplained = !request.changes.empty() && !request.changes.front().taken && !explained_;
        return request;
    }

    std::size_t add_earlier(std::uint64_t address, std::int64_t requested, std::uint64_t stream, std::optional<Block> end) {
        earlier_.push_back(history_.blocks.size());
        history_.blocks.push_back({.address = address,
                                   .requested_bytes = std::max<std::int64_t>(requested, 1),
                                   .bytes = end ? end->bytes : 0,
                                   .pool = pool_at(address, stream),
                                   .stack = end ? end->stack : 0});
        return history_.blocks.size() - 1;
    }

    /// What is there at the end and was not taken in the recording was there before.
    void compare_with_end() {
        std::size_t found = 0;
        for (const Segment& segment : snapshot_.segments) {
            if (segment.device != history_.device) continue;
            const std::uint64_t behind = segment.address + static_cast<std::uint64_t>(segment.bytes);
            const std::uint32_t pool = pool_number({segment.stream, segment.private_pool});
            if (segment.expandable) {
                for (const auto& [from, end] : mapped_.remove(segment.address, behind)) result_.earlier_pages.add(from, end);
                result_.pages.push_back({segment.address, behind, pool, segment.small});
            } else if (const auto taken = taken_segments_.find(segment.address); taken == taken_segments_.end()) {
                result_.earlier_segments.push_back({segment.address, segment.bytes, pool});
            } else if (taken->second.bytes != segment.bytes) {
                ++history_.contradictions;
            }
            for (const Block& block : segment.blocks) {
                if (block.state == Block::State::cached) continue;
                const auto alive = live_.find(block.address);
                if (alive == live_.end()) add_earlier(block.address, block.requested_bytes, segment.stream, block);
                else if (++found; !history_.blocks[alive->second].from_before() &&
                                  history_.blocks[alive->second].requested_bytes != std::max<std::int64_t>(block.requested_bytes, 1))
                    ++history_.contradictions;
            }
        }
        history_.contradictions += live_.size() - found;
    }

    /// Blocks from before get the first numbers, by address. What is given back under one address twice is in conflict.
    void number_blocks() {
        std::ranges::sort(earlier_, {}, [&](std::size_t i) {
            return std::pair{history_.blocks[i].address, history_.blocks[i].given_back};
        });
        std::vector<std::size_t> order = earlier_;
        std::vector<bool> first(history_.blocks.size());
        for (const std::size_t i : earlier_) first[i] = true;
        for (std::size_t i = 0; i < history_.blocks.size(); ++i) {
            if (!first[i]) order.push_back(i);
        }
        std::vector<std::size_t> number(order.size());
        std::vector<RecordedBlock> sorted;
        sorted.reserve(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            number[order[i]] = i;
            sorted.push_back(history_.blocks[order[i]]);
        }
        history_.blocks = std::move(sorted);
        for (Request& each : history_.requests) {
            if (each.kind != Request::Kind::empty_cache) each.block = number[each.block];
        }
        result_.earlier_blocks = earlier_.size();
    }

    const Snapshot& snapshot_;
    std::span<const Event> events_;
    SortedEvents result_;
    DeviceHistory history_;
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> private_;  ///< from: behind, pool
    std::map<std::uint64_t, std::size_t> live_;                                 ///< by address, of those that were taken
    std::map<std::uint64_t, WholeSegment> taken_segments_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> pool_numbers_;
    AddressRanges mapped_;  ///< mapped in the recording, not unmapped since, and not yet found at the end
    std::vector<SegmentChange> changes_;
    bool emptied_ = false;    ///< the stack of the changes says so
    bool explained_ = false;  ///< the changes have a stack
    std::vector<std::size_t> earlier_;
};

}  // namespace hpo::allocator
