// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "hpo/recovery/rungs/rung.hpp"

namespace hpo::recovery {

/// Lets the CUDA allocator grow its segments, if memory was reserved in pieces that are too small. Needs LibTorch 2.1 or later.
struct ExpandableSegments {
    static constexpr std::string_view name = "expandable_segments";
    static constexpr std::string_view summary = "lets CUDA's allocator grow its segments, after fragmentation";

    [[nodiscard]] std::optional<Recovery> offer(const FailedAttempt& failed) const {
        if (!cuda_memory_was_fragmented(failed) || failed.attempt.plan.expandable_segments) return std::nullopt;
        Recovery retry = retry_in_new_process(failed, "memory was fragmented: retry with expandable segments");
        retry.plan.expandable_segments = true;
        return retry;
    }
};

static_assert(RecoveryRung<ExpandableSegments>);

}  // namespace hpo::recovery
