// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "hpo/core/study.hpp"

namespace hpo::analysis {

/// True for a trial that may be called best: complete, feasible, a finite number for each objective.
[[nodiscard]] inline bool is_ranked(const Trial& trial, std::size_t objectives) {
    return trial.state == TrialState::complete && trial.values.size() == objectives && objectives > 0 && trial.feasible() &&
           std::ranges::all_of(trial.values, [](double value) { return std::isfinite(value); });
}

/// True when `a` is nowhere worse than `b` and somewhere better.
[[nodiscard]] bool dominates(std::span<const Direction> directions, const Trial& a, const Trial& b);

/// The best `most` trials of a single-objective study, best first, ties in order of number; the Pareto front of a multi-objective one, in
/// order of number (all of it). Infeasible trials are never among them.
[[nodiscard]] std::vector<const Trial*> best_trials(std::span<const Trial> trials, std::span<const Direction> directions,
                                                    std::size_t most = 1);

/// The trials that nothing may refuse: the best twentieth of a single-objective study, at least one, with those that equal the last of
/// them; the Pareto front of a multi-objective one.
[[nodiscard]] std::vector<const Trial*> trials_to_keep(std::span<const Trial> trials, std::span<const Direction> directions);

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/best_inl.hpp"
#endif
