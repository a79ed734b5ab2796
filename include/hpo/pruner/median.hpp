// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/pruner/percentile.hpp"

namespace hpo::pruner {

/// Prunes a trial whose best value so far is worse than the median of the complete trials' values at the same step. It is the percentile
/// pruner at 50, known as the median stopping rule (Golovin et al. 2017, Google Vizier).
class Median {
public:
    static constexpr std::string_view name = "median";
    static constexpr std::string_view summary = "prunes what is worse than the median of complete trials at the same step";
    struct Config {
        std::int64_t startup_trials = 5;
        std::int64_t warmup_steps = 0;
        std::int64_t interval_steps = 1;
        std::int64_t min_trials = 1;
    };
    static constexpr void fields(auto field) {
        field("startup_trials", &Config::startup_trials, "complete trials before any pruning");
        field("warmup_steps", &Config::warmup_steps, "first step that may be pruned");
        field("interval_steps", &Config::interval_steps, "steps between decisions, counted from warmup_steps");
        field("min_trials", &Config::min_trials, "complete trials that must have reported the step");
    }

    Median() : Median{Config{}} {}
    explicit Median(Config config)
        : half_{Percentile::Config{.percentile = 50,
                                   .startup_trials = config.startup_trials,
                                   .warmup_steps = config.warmup_steps,
                                   .interval_steps = config.interval_steps,
                                   .min_trials = config.min_trials}} {}

    [[nodiscard]] Verdict judge(const PruneQuery& query) { return half_.judge(query); }

private:
    Percentile half_;
};

static_assert(Pruner<Median> && Configurable<Median>);

}  // namespace hpo::pruner
