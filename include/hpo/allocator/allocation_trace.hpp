// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hpo::allocator {

/// A block of device memory that the attempt requested.
struct TracedBlock {
    std::int64_t bytes = 0;    ///< requested size, above 0
    std::uint32_t scope = 0;   ///< index into AllocationTrace::scopes
    std::uint32_t stream = 0;  ///< only blocks of this stream are used again for it
    friend bool operator==(const TracedBlock&, const TracedBlock&) = default;
};

/// The phase that begins at an event: build, batch, forward, backward, step, evaluation.
struct TracedPhase {
    std::size_t first_event = 0;
    std::string name;
    friend bool operator==(const TracedPhase&, const TracedPhase&) = default;
};

/// Every block of device memory that an attempt took and gave back, in order.
struct AllocationTrace {
    std::vector<TracedBlock> blocks;               ///< in the order in which they were taken
    std::vector<std::int64_t> events;              ///< b: block b was taken; -1 - b: block b was given back
    std::vector<TracedPhase> phases;               ///< in order; an event before the first belongs to no phase
    std::vector<std::string> scopes{""};           ///< who took a block: "encoder.layer.0.attention aten::mm"; the first is empty: unknown
    std::string libtorch{};                        ///< LibTorch's version when it was recorded, "1.13.1"; empty: unknown
    std::vector<std::size_t> emptied{};            ///< the cache is emptied before each of these events; in order
    std::vector<std::uint32_t> private_streams{};  ///< those that keep their segments when it is

    /// Records that a block was taken; returns its number.
    std::int64_t take(TracedBlock block) {
        const auto number = static_cast<std::int64_t>(blocks.size());
        blocks.push_back(block);
        events.push_back(number);
        return number;
    }
    void give_back(std::int64_t block) { events.push_back(-1 - block); }
    /// The block that an event takes or gives back.
    [[nodiscard]] static std::size_t block_of(std::int64_t event) { return static_cast<std::size_t>(event >= 0 ? event : -1 - event); }
    /// What an event adds to the requested bytes of live blocks.
    [[nodiscard]] std::int64_t change(std::int64_t event) const {
        const std::int64_t bytes = blocks[block_of(event)].bytes;
        return event >= 0 ? bytes : -bytes;
    }
    void enter(std::string_view phase) {
        if (!phases.empty() && phases.back().name == phase) return;
        phases.push_back({events.size(), std::string{phase}});
    }
    friend bool operator==(const AllocationTrace&, const AllocationTrace&) = default;
};

}  // namespace hpo::allocator
