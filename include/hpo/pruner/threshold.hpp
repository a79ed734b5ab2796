// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/core/field.hpp"
#include "hpo/pruner/concept.hpp"
#include "hpo/pruner/decision_step.hpp"

namespace hpo::pruner {

/// Prunes a trial whose latest value is NaN or outside given bounds. It looks at the trial alone. Decides as Optuna's pruner of that name.
/// Without a bound it prunes NaN alone, which Optuna's refuses to do.
class Threshold {
public:
    static constexpr std::string_view name = "threshold";
    static constexpr std::string_view summary = "prunes a trial whose latest value is NaN or outside given bounds";
    struct Config {
        std::optional<double> lower{};
        std::optional<double> upper{};
        std::int64_t warmup_steps = 0;
        std::int64_t interval_steps = 1;
    };
    static constexpr void fields(auto field) {
        field("lower", &Config::lower, "a smaller value is pruned; none: no bound");
        field("upper", &Config::upper, "a larger value is pruned; none: no bound");
        field("warmup_steps", &Config::warmup_steps, "first step that may be pruned");
        field("interval_steps", &Config::interval_steps, "steps between decisions, counted from warmup_steps");
    }

    Threshold() : Threshold{Config{}} {}
    explicit Threshold(Config config) : config_{config} {
        if (config.lower && config.upper && !(*config.lower <= *config.upper))
            throw bad_value("lower", display_text(*config.lower), "at most the upper bound, " + display_text(*config.upper));
        require_at_least<0>("warmup_steps", config.warmup_steps);
        require_at_least<1>("interval_steps", config.interval_steps);
    }

    [[nodiscard]] Verdict judge(const PruneQuery& query) const {
        const auto latest = query.trial.intermediate.find(query.step);
        if (latest == query.trial.intermediate.end() || !is_decision_step(query, config_.warmup_steps, config_.interval_steps)) return {};
        const double value = latest->second;
        const std::string what = "value " + display_text(value) + " at step " + std::to_string(query.step);
        if (std::isnan(value)) return {Verdict::Answer::prune, what};
        if (config_.lower && value < *config_.lower) return {Verdict::Answer::prune, what + " is below " + display_text(*config_.lower)};
        if (config_.upper && value > *config_.upper) return {Verdict::Answer::prune, what + " is above " + display_text(*config_.upper)};
        return {};
    }

private:
    Config config_;
};

static_assert(Pruner<Threshold> && Configurable<Threshold>);

}  // namespace hpo::pruner
