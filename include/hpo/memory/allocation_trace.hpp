// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hpo::memory {

/// A block of device memory that somebody asked for.
struct TracedBlock {
    std::int64_t bytes = 0;   ///< as asked for, above 0
    std::uint32_t scope = 0;  ///< index into AllocationTrace::scopes
    friend bool operator==(const TracedBlock&, const TracedBlock&) = default;
};

/// What a process did from here on: build, batch, forward, backward, step, evaluation.
struct TracedPhase {
    std::size_t first_event = 0;
    std::string name;
    friend bool operator==(const TracedPhase&, const TracedPhase&) = default;
};

/// Every block of device memory that an attempt took and gave back, in order.
struct AllocationTrace {
    std::vector<TracedBlock> blocks;      ///< in the order in which they were taken
    std::vector<std::int64_t> events;     ///< b: block b was taken; -1 - b: it was given back
    std::vector<TracedPhase> phases;      ///< in order; events before the first belong to no phase
    std::vector<std::string> scopes{""};  ///< who took a block: "encoder.layer.0.attention aten::mm"; the first is nobody
    std::string libtorch{};               ///< the version that it was recorded with, "1.13.1"; empty: not known

    /// Notes a block; returns its number.
    std::int64_t take(TracedBlock block) {
        const auto number = static_cast<std::int64_t>(blocks.size());
        blocks.push_back(block);
        events.push_back(number);
        return number;
    }
    void give_back(std::int64_t block) { events.push_back(-1 - block); }
    void enter(std::string_view phase) {
        if (!phases.empty() && phases.back().name == phase) return;
        phases.push_back({events.size(), std::string{phase}});
    }
    friend bool operator==(const AllocationTrace&, const AllocationTrace&) = default;
};

}  // namespace hpo::memory
