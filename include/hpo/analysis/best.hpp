// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "hpo/analysis/failure_cases/failure_case.hpp"
#include "hpo/core/study.hpp"
#include "hpo/store/configurations.hpp"

namespace hpo::analysis {

/// True for a trial that may be called best: it is complete and feasible and has a finite value for each objective.
[[nodiscard]] inline bool is_ranked(const Trial& trial, std::size_t objectives) {
    return trial.state == TrialState::complete && trial.values.size() == objectives && objectives > 0 && trial.feasible() &&
           std::ranges::all_of(trial.values, [](double value) { return std::isfinite(value); });
}

/// True if `a` is better than `b` in some objective and worse in none.
[[nodiscard]] bool dominates(std::span<const Direction> directions, const Trial& a, const Trial& b);

/// Complete trials of another program that ran out of memory by their own message. Their value may be a penalty.
[[nodiscard]] std::set<const Trial*> complete_out_of_memory(std::span<const FailureCase> cases);

/// For one objective: the best `most` trials, best first, ties in order of number. For several: the whole Pareto front, in order of number.
/// Infeasible trials are never among them, nor are those in `without`. Trials that differ in their seed alone count by their means, as the
/// first of them, once all of them have ended.
[[nodiscard]] std::vector<const Trial*> best_trials(std::span<const Trial> trials, std::span<const Direction> directions,
                                                    std::size_t most = 1, const std::set<const Trial*>& without = {});

/// A trial with the means of its configuration for its values, if it is the first of several that differ in their seed alone.
[[nodiscard]] Trial with_mean(std::span<const Trial> trials, const Trial& trial);

/// How likely the means of two configurations would differ so much or more if their expected values were the same: the two-sided p-value of
/// Welch's t-test (Welch 1947). Nullopt where one of them has fewer than two complete trials, or a trial that is not complete, or where
/// neither has any spread.
[[nodiscard]] std::optional<double> welch_p_value(const SeedTrials& a, const SeedTrials& b, std::size_t objective = 0);

/// The trials that no rule may refuse. For one objective: the best twentieth, at least one, with all trials that equal the last of them.
/// For several: the Pareto front.
[[nodiscard]] std::vector<const Trial*> trials_to_keep(std::span<const Trial> trials, std::span<const Direction> directions,
                                                       const std::set<const Trial*>& without = {});

}  // namespace hpo::analysis
