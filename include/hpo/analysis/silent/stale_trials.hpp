// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "hpo/analysis/cases/failure_case.hpp"
#include "hpo/analysis/silent/pace.hpp"

namespace hpo::analysis::inline silent {

/// A trial of another program that is still RUNNING in the store, although the study went on long after it. Its process is probably gone.
struct StaleTrial {
    const Trial* trial = nullptr;
    double seconds = 0;               ///< from its start to the study's last entry
    std::size_t ended_meanwhile = 0;  ///< trials that began after it and ended
};

/// The keys (Trial::id) of trials that are RUNNING in the store, but whose run of hpo is gone.
using AbandonedTrials = std::set<std::int64_t>;

/// Finds trials that have been RUNNING for more than three times as long as any finished trial took. At least one trial that began later
/// must have ended. The clock is the study's last entry, so a study that is no longer in use does not get older.
[[nodiscard]] inline std::vector<StaleTrial> stale_trials(std::span<const Trial> trials) {
    std::vector<StaleTrial> stale;
    const auto may_be_stale = [](const Trial& trial) { return trial.state == TrialState::running && trial.attempts.empty(); };
    if (std::ranges::none_of(trials, may_be_stale)) return stale;
    std::optional<Time> last;
    double longest = 0;
    std::vector<Time> ended_starts;  // of trials that have ended
    for (const Trial& trial : trials) {
        if (is_finished(trial.state) && trial.started && trial.completed) ended_starts.push_back(*trial.started);
        for (const auto& moment : {trial.started, trial.completed}) {
            if (moment && (!last || *moment > *last)) last = moment;
        }
        if (is_finished(trial.state)) longest = std::max(longest, detail::trial_seconds(trial).value_or(0));
    }
    std::ranges::sort(ended_starts);
    for (const Trial& trial : trials) {
        if (trial.state != TrialState::running || !trial.started || !trial.attempts.empty()) continue;
        const double seconds = seconds_between(*trial.started, *last);
        if (seconds <= std::max(1.0, 3 * longest)) continue;
        const auto later = ended_starts.end() - std::ranges::upper_bound(ended_starts, *trial.started);
        if (later > 0) stale.push_back({.trial = &trial, .seconds = seconds, .ended_meanwhile = static_cast<std::size_t>(later)});
    }
    return stale;
}

}  // namespace hpo::analysis::silent
