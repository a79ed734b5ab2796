// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "hpo/analysis/failure_case.hpp"
#include "hpo/analysis/pace.hpp"

namespace hpo::analysis {

/// A trial of another program that is RUNNING in the store although the study went on long after it: its process is probably gone.
struct StaleTrial {
    const Trial* trial = nullptr;
    double seconds = 0;               ///< from its start to the last thing that the study did
    std::size_t ended_meanwhile = 0;  ///< trials that began after it and ended
};

/// Finds trials that are RUNNING for longer than three times as long as any finished trial took, while at least one that began later
/// ended. The clock is the study's own last entry: a study that nobody works on any longer does not get older.
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

/// A trial of another program that was pruned without a report, and ran longer than its neighbours: no pruner can have judged it.
struct UnreportedPrune {
    const Trial* trial = nullptr;
    double seconds = 0;
    double neighbour_seconds = 0;  ///< the median of its neighbours by number
};

/// Finds trials that were PRUNED without a report, in a study whose trials report, after longer than the median of the ten trials next to
/// them by number that completed or were pruned after a report. `cases` says which failures are known.
[[nodiscard]] inline std::vector<UnreportedPrune> unreported_prunes(std::span<const Trial> trials, std::span<const FailureCase> cases) {
    std::vector<const Trial*> others;
    for (const Trial& trial : trials) {
        const bool ran = trial.state == TrialState::complete || (trial.state == TrialState::pruned && !trial.intermediate.empty());
        if (ran && trial.attempts.empty() && detail::trial_seconds(trial)) others.push_back(&trial);
    }
    std::vector<UnreportedPrune> found;
    if (std::ranges::none_of(others, [](const Trial* trial) { return !trial->intermediate.empty(); })) return found;
    std::vector<const Trial*> known;
    for (const FailureCase& entry : cases) known.push_back(entry.trial);
    std::ranges::sort(known);
    for (const Trial& trial : trials) {
        const auto seconds = detail::trial_seconds(trial);
        if (trial.state != TrialState::pruned || !trial.intermediate.empty() || !trial.attempts.empty() || !seconds) continue;
        if (std::ranges::binary_search(known, &trial)) continue;
        auto right = std::ranges::lower_bound(others, trial.number, std::less{}, &Trial::number);
        auto left = right;
        std::vector<double> near;
        while (near.size() < 10 && (left != others.begin() || right != others.end())) {
            if (left != others.begin()) near.push_back(*detail::trial_seconds(**--left));
            if (right != others.end()) near.push_back(*detail::trial_seconds(**right++));
        }
        if (near.empty()) continue;
        const auto middle = near.begin() + static_cast<std::ptrdiff_t>(near.size() / 2);
        std::ranges::nth_element(near, middle);
        if (*seconds > *middle) found.push_back({.trial = &trial, .seconds = *seconds, .neighbour_seconds = *middle});
    }
    return found;
}

}  // namespace hpo::analysis
