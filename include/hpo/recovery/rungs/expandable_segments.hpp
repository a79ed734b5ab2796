// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "hpo/recovery/rungs/rung.hpp"

namespace hpo::recovery::inline rungs {

/// Lets the CUDA allocator grow its segments, if memory was reserved in pieces that are too small. Needs LibTorch 2.1 or later.
struct ExpandableSegments {
    static constexpr std::string_view name = "expandable_segments";
    static constexpr std::string_view summary = "lets CUDA's allocator grow its segments, after fragmentation";

    [[nodiscard]] std::optional<Recovery> offer(const FailedAttempt& failed) const {
        const ExecutionPlan& plan = failed.attempt.plan;
        const bool fragmented = failed.failure.kind == FailureKind::out_of_memory && failed.failure.cause == OomCause::fragmentation;
        if (!fragmented || plan.expandable_segments || !plan.device.starts_with("cuda")) return std::nullopt;
        Recovery retry = retry_of(failed, "memory was fragmented: retry with expandable segments");
        retry.plan.expandable_segments = true;
        retry.fresh_worker = true;  // an allocator reads its settings when its process starts
        return retry;
    }
};

static_assert(RecoveryRung<ExpandableSegments>);

}  // namespace hpo::recovery::rungs
