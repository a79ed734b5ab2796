// SPDX-License-Identifier: MIT
#include "hpo/allocator/snapshot/reproduction.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "hpo/allocator/caching_allocator.hpp"

namespace hpo::allocator {

namespace detail {

/// The model of the allocator in the state at the beginning of a recording, and the blocks that it has handed out.
class RecordingReplay {
public:
    RecordingReplay(const DeviceHistory& history, const AllocatorSettings& settings, const AllocatorDevice& device)
        : history_{history}, allocator_{settings, device}, held_(history.blocks.size(), AllocatorBlocks::none) {
        for (std::uint32_t i = 0; i < history.pools.size(); ++i) {
            if (history.pools[i].private_pool != 0) allocator_.keep(i);
        }
        for (const EarlierSegment& each : history.earlier) {
            const auto indexes = allocator_.adopt(each.segment, each.parts);
            for (std::size_t i = 0; i < indexes.size(); ++i) {
                if (each.blocks[i] != no_event) held_[each.blocks[i]] = indexes[i];
            }
        }
        allocator_.watch();
    }

    [[nodiscard]] CachingAllocator& allocator() { return allocator_; }
    /// Carries out one request. Returns false if the device had no memory for it.
    bool serve(const Request& request) {
        if (request.kind == Request::Kind::empty_cache) {
            allocator_.empty_cache();
            return true;
        }
        const RecordedBlock& block = history_.blocks[request.block];
        auto& held = held_[request.block];
        if (request.kind == Request::Kind::give_back) {
            if (held != AllocatorBlocks::none) allocator_.give_back(std::exchange(held, AllocatorBlocks::none));
            return true;
        }
        allocator_.place_next(request.segment != 0 ? std::optional{request.segment} : std::nullopt);
        const auto taken = allocator_.take(block.requested_bytes, block.pool);
        if (!taken) return false;
        if (request.kind == Request::Kind::refused) allocator_.give_back(*taken);
        else held = *taken;
        return true;
    }
    [[nodiscard]] std::optional<std::uint64_t> address(std::size_t block) const {
        if (held_[block] == AllocatorBlocks::none) return std::nullopt;
        return allocator_.address(held_[block]);
    }

private:
    const DeviceHistory& history_;
    CachingAllocator allocator_;
    std::vector<CachingAllocator::Index> held_;
};

/// What the device answered while a request was served. Each run of memory given back follows a refusal.
[[nodiscard]] std::vector<bool> recorded_answers(const Request& request) {
    std::vector<bool> answers;
    for (std::size_t i = 0; i < request.changes.size(); ++i) {
        if (request.changes[i].taken) answers.push_back(true);
        else if (i == 0 || request.changes[i - 1].taken) answers.push_back(false);
    }
    if (request.kind == Request::Kind::refused) answers.insert(answers.end(), 8, false);
    return answers;
}

}  // namespace detail

Reproduction reproduce(const DeviceHistory& history, const AllocatorSettings& settings) {
    detail::RecordingReplay replay{history, settings, {}};
    Reproduction result;
    result.held.reserve(history.requests.size());
    std::int64_t reserved = history.earlier_reserved_bytes;
    std::int64_t live = history.earlier_allocated_bytes;
    result.recorded_peak = reserved;
    for (std::size_t i = 0; i < history.requests.size(); ++i) {
        const Request& request = history.requests[i];
        const bool takes = request.kind == Request::Kind::take || request.kind == Request::Kind::refused;
        if (takes) {
            std::vector<bool> answers = detail::recorded_answers(request);
            const RecordedBlock& block = history.blocks[request.block];
            if (request.unexplained && replay.allocator().has_cached(block.requested_bytes, block.pool)) {
                replay.allocator().empty_cache();  // else the request would not have reached the device
                result.emptied.push_back(i);
                answers.erase(answers.begin());
            } else if (request.unexplained) {
                ++result.unexplained;
            }
            if (std::ranges::find(answers, false) != answers.end()) ++result.retries;
            replay.allocator().answer_next(std::move(answers));
        }
        const bool served = replay.serve(request);
        replay.allocator().answer_next({});
        bool same = true;
        if (request.kind == Request::Kind::take) {
            ++result.allocations;
            if (served && replay.address(request.block) == history.blocks[request.block].address) ++result.same_address;
            else same = false;
        } else if (request.kind == Request::Kind::refused) {
            ++result.refused;
            if (!served) ++result.same_refused;
            else same = false;
        }
        std::vector<SegmentChange> recorded = request.changes;
        std::vector<SegmentChange> modelled = replay.allocator().changes();
        for (const SegmentChange& each : recorded) {
            reserved += each.taken ? each.bytes : -each.bytes;
            result.recorded_peak = std::max(result.recorded_peak, reserved);
        }
        std::ranges::sort(recorded);
        std::ranges::sort(modelled);
        std::vector<SegmentChange> both;
        std::ranges::set_intersection(recorded, modelled, std::back_inserter(both));
        result.segment_changes += recorded.size();
        result.same_changes += both.size();
        result.other_changes += modelled.size() - both.size();
        if (recorded != modelled) same = false;
        if (!same && !result.first_difference) result.first_difference = i;
        const AllocatorCounts counts = replay.allocator().counts();
        if (request.kind == Request::Kind::take || request.kind == Request::Kind::give_back) {
            const RecordedBlock& block = history.blocks[request.block];
            const std::int64_t bytes = block.bytes > 0 ? block.bytes : settings.rounded(block.requested_bytes);
            live += request.kind == Request::Kind::take ? bytes : -bytes;
        }
        result.held.push_back({result.first_difference ? live : counts.allocated, reserved});
    }
    result.model_peak = replay.allocator().counts().reserved_peak;
    return result;
}

std::vector<std::size_t> refused_at_capacity(const DeviceHistory& history, const AllocatorSettings& settings, std::int64_t capacity_bytes) {
    detail::RecordingReplay replay{history, settings, {.total_bytes = capacity_bytes}};
    std::vector<std::size_t> refused;
    for (std::size_t i = 0; i < history.requests.size(); ++i) {
        if (!replay.serve(history.requests[i])) refused.push_back(i);
    }
    return refused;
}

}  // namespace hpo::allocator
