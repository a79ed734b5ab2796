// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/failure/retry_words.hpp"
#include "hpo/recovery/rungs/rung.hpp"

namespace hpo::recovery {

/// Retries when enough of the device is free, or after a time, if other processes held the memory. Up to three times in a trial.
struct Wait {
    static constexpr std::string_view name = "wait";
    static constexpr std::string_view summary = "retries when enough of the device is free, if other processes held the memory";
    double timeout_seconds = 600;
    double interval_seconds = 1;  ///< how often it looks at the device's free memory

    static constexpr void arguments(auto argument) {
        argument("timeout", &Wait::timeout_seconds);
        argument("interval", &Wait::interval_seconds);
    }

    [[nodiscard]] std::string_view unmet(std::size_t given) const { return unmet_interval(given, interval_seconds, timeout_seconds); }
    /// True if the device would be too small for it even if it were free.
    [[nodiscard]] static bool exceeds_device(const FailedAttempt& failed) {
        const auto& capacity = failed.failure.memory.capacity ? failed.failure.memory.capacity : failed.attempt.capacity_bytes;
        return capacity && failed.failure.memory.allocated.value_or(0) + failed.failure.requested_bytes.value_or(0) > *capacity;
    }
    [[nodiscard]] std::optional<Recovery> offer(const FailedAttempt& failed) const {
        constexpr int most = 3;
        if (!neighbours_held_memory(failed.failure) || uses_of(name, failed.trial) >= most || exceeds_device(failed)) return std::nullopt;
        Recovery retry = retry_of(failed, "other processes held the memory: retry " + std::string{waits_for_free_memory});
        retry.wait_seconds = timeout_seconds;
        retry.wait_interval_seconds = interval_seconds;
        return retry;
    }
};

static_assert(RecoveryRung<Wait>);

}  // namespace hpo::recovery
