// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "hpo/recovery/rungs/rung.hpp"

namespace hpo::recovery {

/// Retries once while no other attempt of the run is running, if other processes held the memory.
struct Alone {
    static constexpr std::string_view name = "alone";
    static constexpr std::string_view summary = "retries once while no other attempt runs, if other processes held the memory";

    [[nodiscard]] std::optional<Recovery> offer(const FailedAttempt& failed) const {
        if (!neighbours_held_memory(failed.failure) || uses_of(name, failed.trial) > 0) return std::nullopt;
        Recovery retry = retry_of(failed, "other processes held the memory: retry alone on the device");
        retry.alone = true;
        return retry;
    }
};

static_assert(RecoveryRung<Alone>);

}  // namespace hpo::recovery
