// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "hpo/base/inline.hpp"
#include "hpo/core/value.hpp"
#include "hpo/failure/message_families.hpp"
#include "hpo/failure/traits.hpp"
#include "hpo/recovery/rungs/backoff.hpp"

namespace hpo::recovery::inline rungs {

namespace detail {

[[nodiscard]] HPO_INLINE std::string what_was_away(const Failure& failure) {
    const auto part = find_telling_part(failure.type, failure.message);
    return part && part->family ? std::string{part->family->name} : std::string{to_text(failure.kind)};
}

/// True if an attempt has ended well since the last trial that waited in vain. O(trials).
[[nodiscard]] HPO_INLINE bool was_there(const History& history) {
    std::optional<Time> well;
    std::optional<Time> in_vain;
    for (const Trial& trial : history.trials) {
        if (!is_finished(trial.state) || trial.attempts.empty()) continue;
        const Attempt& last = trial.attempts.back();
        if (trial.state != TrialState::fail) {
            if (!last.failure) well = std::max(well, trial.completed);
        } else if (last.failure && last.failure->kind == FailureKind::environment && uses_of(Backoff::name, trial) > 0 &&
                   !is_decision_of(Backoff::name, last.decision)) {  // else it was interrupted in its pause, which says nothing
            in_vain = std::max(in_vain, trial.completed);
        }
    }
    return well > in_vain;
}

}  // namespace detail

HPO_INLINE std::optional<Recovery> Backoff::offer(const FailedAttempt& failed) const {
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

}  // namespace hpo::recovery::rungs
