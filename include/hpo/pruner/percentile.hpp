// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/field.hpp"
#include "hpo/core/history_cursor.hpp"
#include "hpo/pruner/concept.hpp"
#include "hpo/pruner/decision_step.hpp"

namespace hpo::pruner {

/// The `percentile` (0 to 100) of ascending values, interpolated linearly between neighbours. Returns nullopt if there are none.
[[nodiscard]] std::optional<double> percentile_of(const std::vector<double>& ascending, double percentile);

/// The values that complete trials reported at one step.
class StepReports {
public:
    void add(double value) {
        ++count_;
        if (!std::isnan(value)) values_.push_back(value);
    }
    /// With the NaN.
    [[nodiscard]] std::int64_t count() const noexcept { return count_; }
    /// Without the NaN. Costs O(n) if some were added since the last call, else O(1).
    [[nodiscard]] const std::vector<double>& ascending();

private:
    std::vector<double> values_;
    std::size_t sorted_ = 0;  ///< how many of them are in order
    std::int64_t count_ = 0;
};

/// Prunes a trial whose best value so far is worse than a percentile of the complete trials' values at the same step. Decides as Optuna's
/// pruner of that name: a trial that reported only NaN is pruned. It keeps each step's values in order, so a verdict does not walk all
/// trials.
class Percentile {
public:
    static constexpr std::string_view name = "percentile";
    static constexpr std::string_view summary = "prunes what is outside the best PERCENTILE of complete trials at the same step";
    struct Config {
        double percentile = 25;
        std::int64_t startup_trials = 5;
        std::int64_t warmup_steps = 0;
        std::int64_t interval_steps = 1;
        std::int64_t min_trials = 1;
    };
    static constexpr void fields(auto field) {
        field("percentile", &Config::percentile, "share of trials that are kept, 0 to 100");
        field("startup_trials", &Config::startup_trials, "complete trials before any pruning");
        field("warmup_steps", &Config::warmup_steps, "first step that may be pruned");
        field("interval_steps", &Config::interval_steps, "steps between decisions, counted from warmup_steps");
        field("min_trials", &Config::min_trials, "complete trials that must have reported the step");
    }

    Percentile() : Percentile{Config{}} {}
    explicit Percentile(Config config);

    [[nodiscard]] Verdict judge(const PruneQuery& query);

private:
    /// Takes in the trials that are complete now and were not at the last call.
    void follow(const PruneQuery& query);

    Config config_;
    HistoryCursor cursor_;
    std::int64_t complete_ = 0;
    std::map<std::int64_t, StepReports> steps_;
};

static_assert(Pruner<Percentile> && Configurable<Percentile>);

inline std::optional<double> percentile_of(const std::vector<double>& ascending, double percentile) {
    if (ascending.empty()) return std::nullopt;
    const double position = percentile / 100 * static_cast<double>(ascending.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const auto above = std::min(below + 1, ascending.size() - 1);
    return std::lerp(ascending[below], ascending[above], position - static_cast<double>(below));
}

inline const std::vector<double>& StepReports::ascending() {
    const auto first_new = values_.begin() + static_cast<std::ptrdiff_t>(sorted_);
    std::sort(first_new, values_.end());
    std::inplace_merge(values_.begin(), first_new, values_.end());
    sorted_ = values_.size();
    return values_;
}

inline Percentile::Percentile(Config config) : config_{config} {
    if (!(config.percentile >= 0 && config.percentile <= 100)) {
        throw bad_value("percentile", display_text(config.percentile), "0 to 100");
    }
    require_at_least<0>("startup_trials", config.startup_trials);
    require_at_least<0>("warmup_steps", config.warmup_steps);
    require_at_least<1>("interval_steps", config.interval_steps);
    require_at_least<1>("min_trials", config.min_trials);
}

inline void Percentile::follow(const PruneQuery& query) {
    const History& history = query.history;
    if (!cursor_.goes_on(history)) {
        cursor_.restart(history);
        complete_ = 0;
        steps_.clear();
    }
    const auto ended = [&](std::size_t place) {
        const Trial& trial = history.trials[place];
        if (trial.state != TrialState::complete) return;
        ++complete_;
        for (const auto& [step, value] : trial.intermediate) steps_[step].add(value);
    };
    cursor_.advance(history, query.trial.number, ended, [](std::size_t) {});
}

inline Verdict Percentile::judge(const PruneQuery& query) {
    const auto& reports = query.trial.intermediate;
    if (reports.empty() || !is_decision_step(query, config_.warmup_steps, config_.interval_steps)) return {};
    follow(query);
    if (complete_ == 0 || complete_ < config_.startup_trials) return {};

    double best = std::numeric_limits<double>::quiet_NaN();
    for (const auto& [step, value] : reports) {
        if (better(query.direction, value, best)) best = value;
    }
    if (std::isnan(best)) return {Verdict::Answer::prune, "every value reported so far is NaN"};

    const auto rivals = steps_.find(query.step);
    if (rivals == steps_.end() || rivals->second.count() < config_.min_trials) return {};
    const std::int64_t count = rivals->second.count();
    const bool minimize = query.direction == Direction::minimize;
    const auto bar = percentile_of(rivals->second.ascending(), minimize ? config_.percentile : 100 - config_.percentile);
    if (!bar || !better(query.direction, *bar, best)) return {};
    return {Verdict::Answer::prune, "best value " + display_text(best) + " by step " + std::to_string(query.step) + " is worse than " +
                                        display_text(*bar) + ", percentile " + display_text(config_.percentile) + " of " +
                                        std::to_string(count) + " complete trials"};
}

}  // namespace hpo::pruner
