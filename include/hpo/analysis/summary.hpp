// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "hpo/analysis/best.hpp"
#include "hpo/analysis/failure_case.hpp"
#include "hpo/core/history.hpp"
#include "hpo/store/retries.hpp"

namespace hpo::analysis {

/// A study in numbers.
struct Summary {
    std::size_t trials = 0;
    std::array<std::size_t, trial_state_names.size()> by_state{};  ///< in the order of TrialState
    std::size_t interrupted = 0;                                   ///< of those in state fail: given up, or their run was gone
    std::size_t infeasible = 0;                                    ///< finished, with a violated constraint
    std::size_t rejections = 0;                                    ///< proposals that were refused before launch
    std::vector<const Trial*> best;                                ///< the best one, or the Pareto front
    std::optional<Time> first_start;
    std::optional<Time> last_end;
    double trial_seconds = 0;      ///< of all finished trials together
    std::size_t timed_trials = 0;  ///< finished trials whose time is known

    /// Trials that ended in a failure of their own.
    [[nodiscard]] std::size_t failed() const { return by_state[static_cast<std::size_t>(TrialState::fail)] - interrupted; }

    /// Seconds between the first start and the last end.
    [[nodiscard]] std::optional<double> wall_seconds() const {
        if (!first_start || !last_end || *last_end < *first_start) return std::nullopt;
        return seconds_between(*first_start, *last_end);
    }
};

[[nodiscard]] inline Summary summarise(const Study& study, std::span<const Trial> trials, std::span<const Rejection> rejections) {
    Summary summary{.trials = trials.size(),
                    .rejections = rejections.size(),
                    .best = best_trials(trials, study.directions),
                    .first_start = {},
                    .last_end = {}};
    for (const Trial& trial : trials) {
        ++summary.by_state[static_cast<std::size_t>(trial.state)];
        if (trial.started && (!summary.first_start || *trial.started < *summary.first_start)) summary.first_start = trial.started;
        if (!is_finished(trial.state)) continue;
        if (trial.completed && (!summary.last_end || *trial.completed > *summary.last_end)) summary.last_end = trial.completed;
        if (trial.state == TrialState::fail && is_lost(trial)) ++summary.interrupted;
        if (!trial.feasible()) ++summary.infeasible;
        if (const auto seconds = detail::trial_seconds(trial)) {
            summary.trial_seconds += *seconds;
            ++summary.timed_trials;
        }
    }
    return summary;
}

}  // namespace hpo::analysis
