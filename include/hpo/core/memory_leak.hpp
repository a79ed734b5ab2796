// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "hpo/core/trial.hpp"

namespace hpo {

/// The name of the mark that tells of a leak: its `allocated` is what the attempt's process still held when the attempt was over.
inline constexpr std::string_view leak_mark = "leak";

/// The name of the mark that tells of a worker whose host memory has grown with each of its latest attempts: by how much is its
/// `allocated`.
inline constexpr std::string_view host_growth_mark = "host_growth";

/// What was found to be held on the device after the attempt; nothing for an honest one.
[[nodiscard]] inline std::optional<std::int64_t> leaked_bytes(const Attempt& attempt) {
    for (const MemoryMark& mark : attempt.memory) {
        if (mark.name == leak_mark) return mark.reading.allocated;
    }
    return std::nullopt;
}

/// Less than this is no matter to any device: what is held after an attempt counts from here.
inline constexpr std::int64_t least_held = 1 << 20;

/// What the attempt's process held of the device before the attempt or after it, whichever is more: leaks, what libraries keep, and what
/// the trainer keeps on purpose. Nobody knows which, nor whether the attempt needed it.
[[nodiscard]] inline std::int64_t held_beyond(const Attempt& attempt) {
    std::int64_t held = 0;
    for (const MemoryMark& mark : attempt.memory) {
        const std::int64_t allocated = mark.reading.allocated.value_or(0);
        if (mark.name == "trial_start" || (mark.name == "end" && allocated > least_held)) held = std::max(held, allocated);
    }
    return held;
}

}  // namespace hpo
