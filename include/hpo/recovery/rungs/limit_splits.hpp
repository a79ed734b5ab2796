// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "hpo/recovery/rungs/rung.hpp"

namespace hpo::recovery {

/// Forbids the CUDA allocator to split blocks above 128 MiB, and lets it give cached ones back early, after fragmentation. For attempts
/// that have no allocator settings yet and do not use expandable segments, such as those of LibTorch before 2.1. Needs LibTorch 1.12 or
/// later.
struct LimitSplits {
    static constexpr std::string_view name = "limit_splits";
    static constexpr std::string_view summary = "forbids CUDA's allocator to split large blocks, after fragmentation";
    static constexpr std::string_view settings = "max_split_size_mb:128,garbage_collection_threshold:0.8";

    [[nodiscard]] std::optional<Recovery> offer(const FailedAttempt& failed) const {
        const ExecutionPlan& plan = failed.attempt.plan;
        if (!cuda_memory_was_fragmented(failed) || plan.expandable_segments || !plan.allocator_settings.empty()) return std::nullopt;
        Recovery retry = retry_in_new_process(failed, "memory was fragmented: retry without splits of large blocks");
        retry.plan.allocator_settings = settings;
        return retry;
    }
};

static_assert(RecoveryRung<LimitSplits>);

}  // namespace hpo::recovery
