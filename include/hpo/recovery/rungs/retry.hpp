// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hpo/failure/traits.hpp"
#include "hpo/recovery/rungs/rung.hpp"

namespace hpo::recovery {

/// Retries in a new process, `most` times in a trial, if the failure may not come again. An exception of the trainer may be one: perhaps a
/// file or a service was away.
struct Retry {
    static constexpr std::string_view name = "retry";
    static constexpr std::string_view summary = "retries as it was in a new process, if the failure may not come again";
    int most = 1;

    static constexpr void arguments(auto argument) { argument("n", &Retry::most); }

    [[nodiscard]] std::optional<Recovery> offer(const FailedAttempt& failed) const {
        const int before = uses_of(name, failed.trial);
        const bool deterministic = traits_of(failed.failure).recurrence == Recurrence::deterministic;
        if (before >= most || (deterministic && failed.failure.kind != FailureKind::trainer_error)) return std::nullopt;
        const std::string count = most > 1 ? " (" + std::to_string(before + 1) + " of " + std::to_string(most) + ")" : "";
        return retry_in_new_process(failed, std::string{to_text(failed.failure.kind)} + ": retry as it was" + count);
    }
};

static_assert(RecoveryRung<Retry>);

}  // namespace hpo::recovery
