// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hpo/core/history.hpp"
#include "hpo/sampler/pareto_fronts.hpp"

namespace hpo::sampler {

/// The observations that TPE models: the good ones and the others, each from oldest to newest.
struct TpeSplit {
    std::vector<const ParamSet*> below;
    std::vector<const ParamSet*> above;
};

/// True for trials that TPE learns from: finished and running ones. Running trials act as a constant liar: they repel. A failed trial
/// counts only if a constraint says that it was infeasible.
[[nodiscard]] bool tpe_observes(const Trial& trial);

/// The parameters of an observed trial. If a rule changed them, those of its last attempt.
[[nodiscard]] inline const ParamSet& tpe_params(const Trial& trial) {
    return trial.attempts.empty() ? trial.params : params_of(trial, trial.attempts.back());
}

/// How good an observation is; the smaller, the better.
struct TpeRank {
    enum class Kind : char { complete, pruned, infeasible, running };
    Kind kind = Kind::running;
    double first = 0;
    double second = 0;  ///< compared if `first` is equal
    friend bool operator<(const TpeRank& a, const TpeRank& b) {
        if (a.kind != b.kind) return a.kind < b.kind;
        if (a.first != b.first) return a.first < b.first;
        return a.second < b.second;
    }
};
[[nodiscard]] TpeRank tpe_rank(const Trial& trial, Direction direction);
[[nodiscard]] TpeRank tpe_rank(const Rejection& rejection);

/// The number of good observations among `finished` trials: of one objective at most tpe_most_good.
[[nodiscard]] std::size_t tpe_good_count(double gamma, std::size_t finished, std::size_t objectives);
inline constexpr std::size_t tpe_most_good = 25;

/// What ranks a trial among those of several objectives: its values, the lower the better, if it is complete and feasible.
[[nodiscard]] std::optional<std::vector<double>> tpe_objectives(const Trial& trial, std::span<const Direction> directions);

/// Splits the history, without trial `number`. The best share `gamma` of the finished trials, of one objective at most 25, is below.
///
/// Complete trials are the best, by value. Those of several objectives are the best by ParetoFronts. Then come pruned trials, by their last
/// step and their value there. Then come infeasible trials and rejections, by total violation. A NaN value is the worst. If a rule changed
/// a trial's parameters, those of its last attempt count.
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

inline TpeRank tpe_rank(const Trial& trial, Direction direction) {
    const auto loss = [&](double value) {
        if (std::isnan(value)) return std::numeric_limits<double>::infinity();
        return direction == Direction::minimize ? value : -value;
    };
    if (trial.state == TrialState::running) return {TpeRank::Kind::running};
    if (!trial.feasible()) return {TpeRank::Kind::infeasible, trial.total_violation()};
    if (trial.state == TrialState::complete) return {TpeRank::Kind::complete, loss(trial.values.empty() ? std::nan("") : trial.values[0])};
    if (trial.intermediate.empty()) return {TpeRank::Kind::pruned, 1};
    const auto& [step, value] = *trial.intermediate.rbegin();
    return {TpeRank::Kind::pruned, -static_cast<double>(step), loss(value)};
}

inline TpeRank tpe_rank(const Rejection& rejection) {
    return {TpeRank::Kind::infeasible, std::isnan(rejection.violation) ? HUGE_VAL : rejection.violation};
}

inline std::size_t tpe_good_count(double gamma, std::size_t finished, std::size_t objectives) {
    const double wanted = std::ceil(gamma * static_cast<double>(finished));
    return static_cast<std::size_t>(objectives > 1 ? wanted : std::min(static_cast<double>(tpe_most_good), wanted));
}

inline std::optional<std::vector<double>> tpe_objectives(const Trial& trial, std::span<const Direction> directions) {
    if (trial.state != TrialState::complete || !trial.feasible() || trial.values.size() != directions.size()) return std::nullopt;
    std::vector<double> losses;
    for (std::size_t m = 0; m < directions.size(); ++m) {
        const double value = trial.values[m];
        losses.push_back(std::isnan(value)                      ? std::numeric_limits<double>::infinity()
                         : directions[m] == Direction::minimize ? value
                                                                : -value);
    }
    return losses;
}

inline TpeSplit tpe_split(const History& history, std::int64_t number, double gamma) {
    struct Observation {
        const ParamSet* params;
        TpeRank rank;
    };
    const std::size_t objectives = history.directions.size();
    ParetoFronts fronts;
    const Direction direction = history.directions.empty() ? Direction::minimize : history.directions[0];
    std::vector<Observation> observations;
    observations.reserve(history.trials.size() + history.rejections.size());
    std::size_t finished = 0;
    auto rejection = history.rejections.begin();
    const auto reject_until = [&](const Trial* next) {
        for (; rejection != history.rejections.end() && (!next || (next->started && rejection->at < *next->started)); ++rejection) {
            observations.push_back({&rejection->params, tpe_rank(*rejection)});
        }
    };
    for (const Trial& trial : history.trials) {
        if (trial.number == number || !tpe_observes(trial)) continue;
        reject_until(&trial);
        auto losses = objectives > 1 ? tpe_objectives(trial, history.directions) : std::nullopt;
        if (losses) fronts.add({observations.size(), std::move(*losses)});
        observations.push_back({&tpe_params(trial), tpe_rank(trial, direction)});
        if (trial.state != TrialState::running) ++finished;
    }
    reject_until(nullptr);

    std::size_t wanted = tpe_good_count(gamma, finished, objectives);
    std::vector<char> is_below(observations.size(), 0);
    for (const std::size_t i : fronts.best(wanted)) {
        is_below[i] = 1;
        --wanted;
    }
    if (objectives > 1) wanted = std::min(wanted, tpe_most_good);
    std::vector<std::size_t> best;  // the best first, and of equal ones the older; at most 25, so that insertion is cheap
    for (std::size_t i = 0; i < observations.size(); ++i) {
        const TpeRank::Kind kind = observations[i].rank.kind;
        if (kind == TpeRank::Kind::running || (objectives > 1 && kind == TpeRank::Kind::complete)) continue;
        std::size_t place = best.size();
        while (place > 0 && observations[i].rank < observations[best[place - 1]].rank) --place;
        if (place == wanted) continue;
        if (best.size() == wanted) best.pop_back();
        best.insert(best.begin() + static_cast<std::ptrdiff_t>(place), i);
    }
    for (const std::size_t i : best) is_below[i] = 1;

    TpeSplit split;
    for (std::size_t i = 0; i < observations.size(); ++i) {
        (is_below[i] != 0 ? split.below : split.above).push_back(observations[i].params);
    }
    return split;
}

}  // namespace hpo::sampler
