// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "hpo/recovery/rungs/rung.hpp"

namespace hpo::recovery {

/// Computes in bf16 what was computed in fp32. The result is another one, so this rung is in no ladder unless somebody names it.
struct LowerPrecision {
    static constexpr std::string_view name = "lower_precision";
    static constexpr std::string_view summary = "computes in bf16 instead of fp32, which changes the result";

    [[nodiscard]] std::optional<Recovery> offer(const FailedAttempt& failed) const {
        if (!device_refused_memory(failed.failure) || failed.attempt.plan.precision != Precision::fp32) return std::nullopt;
        Recovery retry = retry_of(failed, "out of memory: retry in bf16, which changes the result");
        retry.plan.precision = Precision::bf16;
        return retry;
    }
};

static_assert(RecoveryRung<LowerPrecision>);

}  // namespace hpo::recovery
