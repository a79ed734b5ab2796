// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "hpo/recovery/rungs/rung.hpp"

namespace hpo::recovery {

/// Computes activations again in the backward pass. That takes less memory and about a third more time.
struct CheckpointActivations {
    static constexpr std::string_view name = "checkpoint_activations";
    static constexpr std::string_view summary = "computes activations again in the backward pass";

    [[nodiscard]] std::optional<Recovery> offer(const FailedAttempt& failed) const {
        if (!device_refused_memory(failed.failure) || failed.attempt.plan.activation_checkpointing) return std::nullopt;
        Recovery retry = retry_of(failed, "out of memory: retry with activation checkpointing");
        retry.plan.activation_checkpointing = true;
        return retry;
    }
};

static_assert(RecoveryRung<CheckpointActivations>);

}  // namespace hpo::recovery
