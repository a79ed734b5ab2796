// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hpo/failure/traits.hpp"
#include "hpo/recovery/rungs/rung.hpp"

namespace hpo::recovery {

/// Retries once in a process that has run no attempt yet: after a leak or fragmentation, after the worker died, and after a CUDA error that
/// a second attempt may not meet.
struct FreshWorker {
    static constexpr std::string_view name = "fresh_worker";
    static constexpr std::string_view summary = "retries once in a new process, after a leak, fragmentation, a crash or a CUDA error";

    [[nodiscard]] std::optional<Recovery> offer(const FailedAttempt& failed) const {
        const Failure& failure = failed.failure;
        const bool memory =
            failure.kind == FailureKind::out_of_memory && (failure.cause == OomCause::leak || failure.cause == OomCause::fragmentation);
        const bool died = failure.kind == FailureKind::crash || failure.kind == FailureKind::lost_worker;
        const bool cuda = failure.kind == FailureKind::cuda_sticky || failure.kind == FailureKind::cuda_transient;
        const bool again = cuda && traits_of(failure).recurrence != Recurrence::deterministic;
        if (!(memory || died || again) || uses_of(name, failed.trial) > 0) return std::nullopt;
        return retry_in_new_process(failed, std::string{to_text(failure.kind)} + ": retry in a fresh worker");
    }
};

static_assert(RecoveryRung<FreshWorker>);

}  // namespace hpo::recovery
