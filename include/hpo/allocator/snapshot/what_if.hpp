// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hpo/allocator/allocation_trace.hpp"
#include "hpo/allocator/settings.hpp"

namespace hpo::allocator {

/// What the same requests would take of a device under other settings of the allocator. All in bytes.
struct WhatIf {
    std::string conf;                         ///< PYTORCH_CUDA_ALLOC_CONF; empty: the usual settings
    std::int64_t reserved_peak = 0;           ///< on a device that never refuses
    std::int64_t least_capacity = 0;          ///< serves every request, if necessary after retries
    std::int64_t capacity_without_retry = 0;  ///< serves every request without a retry
    std::optional<bool> fits;                 ///< on the device of the question
    std::optional<std::int64_t> retries;      ///< there
};

/// The question: a device, and how the settings are read.
struct WhatIfQuestion {
    LibTorchVersion version{};
    std::optional<std::int64_t> device_bytes;  ///< what the allocator may take of the device
};

/// The settings that are tried: the usual ones, expandable segments, limits for splitting, divisions for rounding, and useful pairs. Those
/// that the version does not know are left out. Garbage collection counts in shares of a device, so it is tried only for one.
[[nodiscard]] std::vector<std::string> usual_what_ifs(const WhatIfQuestion& question);

/// Settings without what makes no difference to a trace: a limit for splitting that is above each of its segments.
[[nodiscard]] AllocatorSettings settings_that_matter(const AllocationTrace& trace, AllocatorSettings settings);

/// Replays a trace under settings. Throws Error for a text that `version` refuses. O(replays * events * log(cached blocks)).
[[nodiscard]] WhatIf what_if(const AllocationTrace& trace, const std::string& conf, const WhatIfQuestion& question);

/// what_if() for each text, in their order, several at a time. What makes the same of this trace is replayed once. `done` is called before
/// each with its number; it may throw.
[[nodiscard]] std::vector<WhatIf> what_ifs(const AllocationTrace& trace, const std::vector<std::string>& confs,
                                           const WhatIfQuestion& question, const std::function<void(std::size_t)>& done = {});

/// The index of the row that is worth setting instead of rows[0], which has the recorded settings; nullopt: none is. On a device of the
/// question, if the recorded settings do not fit or retry: a row that fits, the one with the fewest retries and then the smallest capacity.
/// Otherwise one that needs at least 2 % and 256 MiB less without a retry. Of rows that differ by less than 1 %, the earliest. Never one
/// with a memory fraction, which only PyTorch from 2.10 on takes as a setting.
[[nodiscard]] std::optional<std::size_t> worth_setting(const std::vector<WhatIf>& rows);

}  // namespace hpo::allocator
