// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/core/value.hpp"
#include "hpo/failure/message_families.hpp"
#include "hpo/failure/traits.hpp"
#include "hpo/recovery/rungs/rung.hpp"

namespace hpo::recovery {

/// Retries after pauses that double, if the network or a network file system was away. A trial may fill a disk by itself, so a full disk is
/// not waited for. Whether a server that refused was the trial's own is not known. It pauses only if an attempt of the study has ended well
/// before. If a trial has paused in vain for the whole time, others do not pause until one ends well.
struct Backoff {
    static constexpr std::string_view name = "backoff";
    static constexpr std::string_view summary = "retries after pauses that double, if the network or a network file system was away";
    double timeout_seconds = 600;  ///< all pauses of a trial together
    double interval_seconds = 5;   ///< the first pause

    static constexpr void arguments(auto argument) {
        argument("timeout", &Backoff::timeout_seconds);
        argument("interval", &Backoff::interval_seconds);
    }

    [[nodiscard]] std::string_view unmet(std::size_t given) const { return unmet_interval(given, interval_seconds, timeout_seconds); }
    [[nodiscard]] std::optional<Recovery> offer(const FailedAttempt& failed) const;
};

static_assert(RecoveryRung<Backoff>);

namespace detail {

[[nodiscard]] inline std::string what_was_away(const Failure& failure) {
    const auto part = find_telling_part(failure.type, failure.message);
    return part && part->family ? std::string{part->family->name} : std::string{to_text(failure.kind)};
}

/// True if an attempt has ended well since the last trial that waited in vain. O(trials).
[[nodiscard]] inline bool was_there(const History& history) {
    std::optional<Time> well;
    std::optional<Time> in_vain;
    for (const Trial& trial : history.trials) {
        if (!is_finished(trial.state) || trial.attempts.empty()) continue;
        const Attempt& last = trial.attempts.back();
        if (trial.state != TrialState::fail) {
            if (!last.failure) well = std::max(well, trial.completed);
        } else if (last.failure && last.failure->kind == FailureKind::environment && uses_of(Backoff::name, trial) > 0 &&
                   answerer_of(last) != Backoff::name) {  // else it was interrupted in its pause, which says nothing
            in_vain = std::max(in_vain, trial.completed);
        }
    }
    return well > in_vain;
}

}  // namespace detail

inline std::optional<Recovery> Backoff::offer(const FailedAttempt& failed) const {
    if (failed.failure.kind != FailureKind::environment || traits_of(failed.failure).recurrence != Recurrence::transient)
        return std::nullopt;
    const int before = uses_of(name, failed.trial);
    const double left = timeout_seconds - interval_seconds * (std::ldexp(1.0, before) - 1);
    if (left <= 0 || !detail::was_there(failed.history)) return std::nullopt;
    const double pause = std::min(left, std::ldexp(interval_seconds, before));
    Recovery retry = retry_of(failed, detail::what_was_away(failed.failure) + ": retry after " + display_text(pause) + " s");
    retry.pause_seconds = pause;
    return retry;
}

}  // namespace hpo::recovery
