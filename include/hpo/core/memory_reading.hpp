// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpo {

/// A process other than the trial's that holds memory of the same device.
struct MemoryNeighbour {
    std::int64_t pid = 0;
    std::int64_t bytes = 0;
    std::string program{};  ///< what the system calls it; empty: not known
    friend bool operator==(const MemoryNeighbour&, const MemoryNeighbour&) = default;
};

/// A device's memory at one moment, as far as it is known; everything in bytes. What is not known is absent, never 0.
struct MemoryReading {
    std::optional<std::int64_t> allocated;       ///< held by live tensors of this process
    std::optional<std::int64_t> reserved;        ///< held by this process's allocator, its cache included
    std::optional<std::int64_t> free;            ///< free on the device
    std::optional<std::int64_t> capacity;        ///< the device's total
    std::optional<std::int64_t> limit;           ///< a cap that the process set itself
    std::optional<std::int64_t> peak_allocated;  ///< highest `allocated` since the attempt began
    std::optional<std::int64_t> peak_reserved;   ///< highest `reserved` since the attempt began
    std::vector<MemoryNeighbour> neighbours;
    friend bool operator==(const MemoryReading&, const MemoryReading&) = default;
};

/// The name of the mark that tells that an attempt's need has shown: its `limit` is what the attempt's allocator takes at most from now on.
inline constexpr std::string_view settled_mark = "settled";

/// A reading at a named moment of an attempt: trial_start, training_start, settled, training_end, oom, end, or a step.
struct MemoryMark {
    std::string name;
    double seconds = 0;  ///< since the attempt began
    std::optional<std::int64_t> step;
    MemoryReading reading;
};

}  // namespace hpo
