// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "hpo/core/trial.hpp"

namespace hpo {

/// The name of the mark of a leak. Its `allocated` is what the attempt's process still held after the attempt was over.
inline constexpr std::string_view leak_mark = "leak";

/// The name of the mark of an allocator that kept much memory reserved after the attempt although no tensor used it. The attempt left
/// fragments, or its trainer does not release its cache. Its `reserved` is what was kept without use.
inline constexpr std::string_view held_cache_mark = "held_cache";

/// The name of the mark of a worker whose host memory grew with each of its latest attempts. Its `allocated` is the growth in bytes.
inline constexpr std::string_view host_growth_mark = "host_growth";

/// The bytes that were still held on the device after the attempt. Returns nullopt if the attempt has no leak mark.
[[nodiscard]] inline std::optional<std::int64_t> leaked_bytes(const Attempt& attempt) {
    for (const MemoryMark& mark : attempt.memory) {
        if (mark.name == leak_mark) return mark.reading.allocated;
    }
    return std::nullopt;
}

/// Memory held after an attempt counts only if it is more than this. No device misses less.
inline constexpr std::int64_t least_held = 1 << 20;

/// True if the mark tells memory that was held before its attempt, or left behind by it.
[[nodiscard]] inline bool tells_held(const MemoryMark& mark) {
    const std::int64_t allocated = mark.reading.allocated.value_or(0);
    return mark.name == leak_mark || (mark.name == "trial_start" && allocated > 0) || (mark.name == "end" && allocated > least_held);
}

/// What the attempt's process held of the device before the attempt or after it, whichever is more. It may be leaks, memory that libraries
/// keep, or memory that the trainer keeps on purpose. Which of them it is, and whether the attempt needed it, is unknown.
[[nodiscard]] inline std::int64_t held_beyond(const Attempt& attempt) {
    std::int64_t held = 0;
    for (const MemoryMark& mark : attempt.memory) {
        if (mark.name != leak_mark && tells_held(mark)) held = std::max(held, *mark.reading.allocated);
    }
    return held;
}

}  // namespace hpo
