// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "hpo/core/memory_reading.hpp"
#include "hpo/device/occupancy.hpp"
#include "hpo/device/process_name.hpp"

namespace hpo::device {

/// How much of a device other processes leave. `free` is everything that they do not hold, even if our processes hold it now. `neighbours`
/// are the largest of them, by name. Memory that is used by no visible process counts as theirs.
template <std::predicate<std::int64_t> IsOurs>
[[nodiscard]] MemoryReading left_by_others(const Occupancy& occupancy, const IsOurs& is_ours) {
    constexpr std::size_t most_neighbours = 8;
    MemoryReading reading;
    std::int64_t ours = 0;
    for (const MemoryNeighbour& process : occupancy.processes) {
        if (is_ours(process.pid)) ours += process.bytes;
        else if (process.bytes > 0) reading.neighbours.push_back(process);
    }
    reading.capacity = occupancy.capacity_bytes;
    reading.free = std::clamp<std::int64_t>(occupancy.capacity_bytes - occupancy.used_bytes + ours, 0, occupancy.capacity_bytes);
    std::ranges::stable_sort(reading.neighbours, std::greater{}, &MemoryNeighbour::bytes);
    if (reading.neighbours.size() > most_neighbours) reading.neighbours.resize(most_neighbours);
    for (MemoryNeighbour& neighbour : reading.neighbours) neighbour.program = process_name(neighbour.pid);
    return reading;
}

/// The reading with less free memory, for attempts that need both kinds of memory. Its capacity is the smaller of the two.
[[nodiscard]] inline MemoryReading scarcer(MemoryReading a, MemoryReading b) {
    if (b.free < a.free) std::swap(a, b);
    a.capacity = std::min(a.capacity, b.capacity);
    return a;
}

}  // namespace hpo::device
