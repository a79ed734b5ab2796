// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "hpo/core/history.hpp"

namespace hpo::sampler {

/// The observations that TPE models: the good ones and the others, each from oldest to newest.
struct TpeSplit {
    std::vector<const ParamSet*> below;
    std::vector<const ParamSet*> above;
};

/// True for trials that TPE learns from: finished and running ones. Running trials act as a constant liar: they repel. A failed trial
/// counts only if a constraint says that it was infeasible.
[[nodiscard]] bool tpe_observes(const Trial& trial);

/// Splits the history, without trial `number`. The best share `gamma` of the finished trials, at most 25, is below.
///
/// Complete trials are the best, by value. Then come pruned trials, by their last step and their value there. Then come infeasible trials
/// and rejections, by total violation. A NaN value is the worst. If a rule changed a trial's parameters, those of its last attempt count.
[[nodiscard]] TpeSplit tpe_split(const History& history, std::int64_t number, double gamma);

inline bool tpe_observes(const Trial& trial) {
    switch (trial.state) {
        case TrialState::complete:
        case TrialState::pruned:
        case TrialState::running: return true;
        case TrialState::fail: return !trial.feasible();
        case TrialState::waiting: return false;
    }
    return false;
}

inline TpeSplit tpe_split(const History& history, std::int64_t number, double gamma) {
    enum class Rank { complete, pruned, infeasible, running };
    struct Observation {
        const ParamSet* params;
        Rank rank;
        double first;   // smaller is better
        double second;  // compared if `first` is equal
    };
    const bool minimize = history.directions.empty() || history.directions[0] == Direction::minimize;
    const auto loss = [&](double value) {
        if (std::isnan(value)) return std::numeric_limits<double>::infinity();
        return minimize ? value : -value;
    };
    const auto observed = [&](const Trial& trial) -> Observation {
        const ParamSet* const params = trial.attempts.empty() ? &trial.params : &params_of(trial, trial.attempts.back());
        if (trial.state == TrialState::running) return {params, Rank::running, 0, 0};
        if (!trial.feasible()) return {params, Rank::infeasible, trial.total_violation(), 0};
        if (trial.state == TrialState::complete) {
            return {params, Rank::complete, loss(trial.values.empty() ? std::nan("") : trial.values[0]), 0};
        }
        if (trial.intermediate.empty()) return {params, Rank::pruned, 1, 0};
        const auto& [step, value] = *trial.intermediate.rbegin();
        return {params, Rank::pruned, -static_cast<double>(step), loss(value)};
    };

    std::vector<Observation> observations;
    observations.reserve(history.trials.size() + history.rejections.size());
    std::size_t finished = 0;
    auto rejection = history.rejections.begin();
    const auto reject_until = [&](const Trial* next) {
        for (; rejection != history.rejections.end() && (!next || (next->started && rejection->at < *next->started)); ++rejection) {
            const double violation = std::isnan(rejection->violation) ? HUGE_VAL : rejection->violation;
            observations.push_back({&rejection->params, Rank::infeasible, violation, 0});
        }
    };
    for (const Trial& trial : history.trials) {
        if (trial.number == number || !tpe_observes(trial)) continue;
        reject_until(&trial);
        observations.push_back(observed(trial));
        if (trial.state != TrialState::running) ++finished;
    }
    reject_until(nullptr);

    const auto is_better = [](const Observation& x, const Observation& y) {
        if (x.rank != y.rank) return x.rank < y.rank;
        if (x.first != y.first) return x.first < y.first;
        return x.second < y.second;
    };
    const auto wanted = static_cast<std::size_t>(std::min(25.0, std::ceil(gamma * static_cast<double>(finished))));
    std::vector<std::size_t> best;  // the best first, and of equal ones the older; at most 25, so that insertion is cheap
    for (std::size_t i = 0; i < observations.size(); ++i) {
        if (observations[i].rank == Rank::running) continue;
        std::size_t place = best.size();
        while (place > 0 && is_better(observations[i], observations[best[place - 1]])) --place;
        if (place == wanted) continue;
        if (best.size() == wanted) best.pop_back();
        best.insert(best.begin() + static_cast<std::ptrdiff_t>(place), i);
    }
    std::vector<char> is_below(observations.size(), 0);
    for (const std::size_t i : best) is_below[i] = 1;

    TpeSplit split;
    for (std::size_t i = 0; i < observations.size(); ++i) {
        (is_below[i] != 0 ? split.below : split.above).push_back(observations[i].params);
    }
    return split;
}

}  // namespace hpo::sampler
