// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "hpo/core/field.hpp"
#include "hpo/pruner/concept.hpp"

namespace hpo::pruner {

/// The `percentile` (0 to 100) of the values that are not NaN, interpolated linearly between neighbours. Returns nullopt if all are NaN.
[[nodiscard]] std::optional<double> percentile_of(const std::vector<double>& values, double percentile);

/// Prunes a trial whose best value so far is worse than a percentile of the complete trials' values at the same step. Decides as Optuna's
/// pruner of that name: a trial that reported only NaN is pruned.
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

    [[nodiscard]] Verdict judge(const Standing& standing) const;

private:
    /// True for the first report at or after each step warmup_steps + k * interval_steps.
    [[nodiscard]] bool is_decision(const Standing& standing) const;

    Config config_;
};

static_assert(Pruner<Percentile> && Configurable<Percentile>);

}  // namespace hpo::pruner

#ifndef HPO_COMPILED
#include "hpo/pruner/impl/percentile_inl.hpp"
#endif
