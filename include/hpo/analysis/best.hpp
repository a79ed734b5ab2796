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
[[nodiscard]] inline bool dominates(std::span<const Direction> directions, const Trial& a, const Trial& b) {
    bool somewhere = false;
    for (std::size_t i = 0; i < directions.size(); ++i) {
        if (better(directions[i], b.values[i], a.values[i])) return false;
        somewhere = somewhere || better(directions[i], a.values[i], b.values[i]);
    }
    return somewhere;
}

/// The best `most` trials of a single-objective study, best first, ties in order of number; the Pareto front of a multi-objective one, in
/// order of number (all of it). Infeasible trials are never among them.
[[nodiscard]] inline std::vector<const Trial*> best_trials(std::span<const Trial> trials, std::span<const Direction> directions,
                                                           std::size_t most = 1) {
    std::vector<const Trial*> ranked;
    for (const Trial& trial : trials) {
        if (!is_ranked(trial, directions.size())) continue;
        if (directions.size() > 1) {
            if (std::ranges::any_of(ranked, [&](const Trial* other) { return dominates(directions, *other, trial); })) continue;
            std::erase_if(ranked, [&](const Trial* other) { return dominates(directions, trial, *other); });
        }
        ranked.push_back(&trial);
    }
    if (directions.size() == 1) {
        const auto before = [&](const Trial* a, const Trial* b) {
            return better(directions[0], a->values[0], b->values[0]) || (!better(directions[0], b->values[0], a->values[0]) && a < b);
        };
        const std::size_t count = std::min(ranked.size(), most);
        std::ranges::partial_sort(ranked, ranked.begin() + static_cast<std::ptrdiff_t>(count), before);
        ranked.resize(count);
    }
    return ranked;
}

/// The trials that nothing may refuse: the best twentieth of a single-objective study, at least one, with those that equal the last of
/// them; the Pareto front of a multi-objective one.
[[nodiscard]] inline std::vector<const Trial*> trials_to_keep(std::span<const Trial> trials, std::span<const Direction> directions) {
    std::vector<const Trial*> ranked = best_trials(trials, directions, trials.size());
    if (directions.size() != 1 || ranked.empty()) return ranked;
    std::size_t count = (ranked.size() + 19) / 20;
    while (count < ranked.size() && ranked[count]->values[0] == ranked[count - 1]->values[0]) ++count;
    ranked.resize(count);
    return ranked;
}

}  // namespace hpo::analysis
