// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/analysis/best.hpp"
#include "hpo/analysis/failure_cases/history_cause.hpp"
#include "hpo/analysis/failure_totals.hpp"
#include "hpo/analysis/silent_failures/silent_report.hpp"
#include "hpo/core/history.hpp"
#include "hpo/failure/rule_failure.hpp"

namespace hpo::analysis {

/// The main numbers of a study.
struct Summary {
    FailureTotals totals;         ///< with the counts of trials and attempts
    SilentReport silent;          ///< what the stored trials show about failures without a message
    std::size_t rejections = 0;   ///< proposals that were refused before launch
    std::size_t rule_errors = 0;  ///< trials that ended because a rule of the script failed
    std::optional<std::string> latest_rule_error{};
    std::vector<const Trial*> best;          ///< the best one, or the Pareto front
    std::set<const Trial*> doubtful;         ///< complete_out_of_memory
    std::vector<const Trial*> best_without;  ///< the best without them, if one of them is among the best
    std::optional<Time> first_start;
    std::optional<Time> last_end;
    double trial_seconds = 0;      ///< the sum over all finished trials
    std::size_t timed_trials = 0;  ///< finished trials whose time is known

    /// Seconds between the first start and the last end.
    [[nodiscard]] std::optional<double> wall_seconds() const {
        if (!first_start || !last_end || *last_end < *first_start) return std::nullopt;
        return seconds_between(*first_start, *last_end);
    }
};

/// `log` is what the program's own log says (failure_cases).
[[nodiscard]] inline Summary summarise(const Study& study, std::span<const Trial> trials, std::span<const Rejection> rejections,
                                       const ToldFailures& log = {}, StudyContext context = {}) {
    context.directions = study.directions;
    std::vector<FailureCase> cases = failure_cases(trials, log);
    explain_by_history(cases, trials);
    SilentReport silent = silent_report(cases, trials, context);
    FailureTotals totals = failure_totals(trials, cases, silent);
    Summary summary{.totals = std::move(totals),
                    .silent = std::move(silent),
                    .rejections = rejections.size(),
                    .best = best_trials(trials, study.directions),
                    .doubtful = complete_out_of_memory(cases),
                    .best_without = {},
                    .first_start = {},
                    .last_end = {}};
    if (std::ranges::any_of(summary.best, [&](const Trial* trial) { return summary.doubtful.contains(trial); }))
        summary.best_without = best_trials(trials, study.directions, 1, summary.doubtful);
    for (const Trial& trial : trials) {
        if (const auto rule = rule_failure(trial)) {
            ++summary.rule_errors;
            summary.latest_rule_error = rule->message;
        }
        if (trial.started && (!summary.first_start || *trial.started < *summary.first_start)) summary.first_start = trial.started;
        if (!is_finished(trial.state)) continue;
        if (trial.completed && (!summary.last_end || *trial.completed > *summary.last_end)) summary.last_end = trial.completed;
        if (const auto seconds = detail::trial_seconds(trial)) {
            summary.trial_seconds += *seconds;
            ++summary.timed_trials;
        }
    }
    return summary;
}

}  // namespace hpo::analysis
