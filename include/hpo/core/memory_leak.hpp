// SPDX-License-Identifier: MIT
#pragma once

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

/// Whether the attempt's process still held nearly all afterwards that the attempt had taken. Its figures are then those of a leak, and
/// say little of its configuration.
[[nodiscard]] inline bool kept_what_it_took(const Attempt& attempt) {
    std::optional<std::int64_t> peak = attempt.peak_allocated;
    if (!peak && attempt.failure) peak = attempt.failure->memory.allocated;
    std::optional<std::int64_t> after;
    std::int64_t before = 0;
    for (const MemoryMark& mark : attempt.memory) {
        if (mark.name == "trial_start") before = mark.reading.allocated.value_or(0);
        if (mark.name == "end") after = mark.reading.allocated;
    }
    if (!peak || !after || !leaked_bytes(attempt)) return false;
    return *after > before && static_cast<double>(*after - before) >= 0.9 * static_cast<double>(*peak - before);
}

}  // namespace hpo
