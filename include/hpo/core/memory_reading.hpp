// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/fields.hpp"

namespace hpo {

/// A process other than the trial's that holds memory of the same device.
struct MemoryNeighbour {
    std::int64_t pid = 0;
    std::int64_t bytes = 0;
    std::string program{};  ///< the system's name for it; empty: unknown
    friend bool operator==(const MemoryNeighbour&, const MemoryNeighbour&) = default;

    static constexpr void fields(auto field) {
        field("pid", &MemoryNeighbour::pid);
        field("bytes", &MemoryNeighbour::bytes, {.unit = Unit::bytes});
        field("program", &MemoryNeighbour::program);
    }
};

/// A device's memory at one moment, in bytes. A figure that is not known is absent, never 0.
struct MemoryReading {
    std::optional<std::int64_t> allocated;       ///< held by live tensors of this process
    std::optional<std::int64_t> reserved;        ///< held by this process's allocator, including its cache
    std::optional<std::int64_t> free;            ///< free on the device
    std::optional<std::int64_t> capacity;        ///< the device's total
    std::optional<std::int64_t> limit;           ///< a cap that the process set itself
    std::optional<std::int64_t> peak_allocated;  ///< highest `allocated` since the attempt began
    std::optional<std::int64_t> peak_reserved;   ///< highest `reserved` since the attempt began
    std::vector<MemoryNeighbour> neighbours;
    friend bool operator==(const MemoryReading&, const MemoryReading&) = default;

    static constexpr void fields(auto field) {
        field("allocated", &MemoryReading::allocated, {.unit = Unit::bytes});
        field("reserved", &MemoryReading::reserved, {.unit = Unit::bytes});
        field("free", &MemoryReading::free, {.unit = Unit::bytes});
        field("capacity", &MemoryReading::capacity, {.unit = Unit::bytes});
        field("limit", &MemoryReading::limit, {.unit = Unit::bytes});
        field("peak_allocated", &MemoryReading::peak_allocated, {.unit = Unit::bytes});
        field("peak_reserved", &MemoryReading::peak_reserved, {.unit = Unit::bytes});
        field("neighbours", &MemoryReading::neighbours);
    }
};

/// The figure, if it is a size that a device's memory can have.
[[nodiscard]] constexpr std::optional<std::int64_t> size_of_memory(std::optional<std::int64_t> bytes) {
    constexpr std::int64_t most = std::int64_t{1} << 62U;
    return bytes && *bytes >= 0 && *bytes <= most ? bytes : std::nullopt;
}

/// The reading without figures that are no sizes of memory. What is free may be below 0, where runs differ in what they may have of a
/// device.
[[nodiscard]] inline MemoryReading without_nonsense(MemoryReading reading) {
    for (auto* const bytes :
         {&reading.allocated, &reading.reserved, &reading.capacity, &reading.limit, &reading.peak_allocated, &reading.peak_reserved})
        *bytes = size_of_memory(*bytes);
    return reading;
}

/// The name of the mark that says that an attempt's real need is now known. Its `limit` is the most that the attempt's allocator takes from
/// now on.
inline constexpr std::string_view settled_mark = "settled";

/// A reading at a named moment of an attempt: trial_start, training_start, settled, training_end, oom, end, or a step.
struct MemoryMark {
    std::string name;
    double seconds = 0;  ///< since the attempt began
    std::optional<std::int64_t> step;
    MemoryReading reading;

    static constexpr void fields(auto field) {
        field("name", &MemoryMark::name);
        field("seconds", &MemoryMark::seconds, {.unit = Unit::seconds});
        field("step", &MemoryMark::step);
        field("reading", &MemoryMark::reading);
    }
};

}  // namespace hpo
