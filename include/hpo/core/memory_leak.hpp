// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "hpo/core/trial.hpp"

namespace hpo {

/// The name of the mark that tells of a leak: its `allocated` is what the attempt's process still held when the attempt was over, above
/// what it held before its first.
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

}  // namespace hpo
