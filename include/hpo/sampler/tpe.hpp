// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/field.hpp"
#include "hpo/sampler/concept.hpp"
#include "hpo/sampler/tpe_parzen_estimator.hpp"
#include "hpo/sampler/tpe_split.hpp"
#include "hpo/sampler/uniform.hpp"
#include "hpo/space/inferred_space.hpp"

namespace hpo::sampler {

/// The tree-structured Parzen estimator over all parameters jointly (Bergstra et al. 2011; multivariate: Falkner et al. 2018). Models the
/// good trials by a density l and the others by a density g. Draws candidates from l and takes the one with the greatest l/g. The rules are
/// those of Optuna 5's default.
///
/// Draws uniformly until `startup_trials` trials have ended. Infeasible trials and rejected proposals are the worst observations. Running
/// trials repel. A failed trial is ignored unless a constraint says that it was infeasible. One model covers all branches of a conditional
/// space: an observation without a parameter has the prior there. One objective only. O(observations * parameters) for each draw. Keeps no
/// state.
class Tpe {
public:
    static constexpr std::string_view name = "tpe";
    static constexpr std::string_view summary =
        "models good and other trials by densities over all parameters and draws where good ones lie";
    struct Config {
        std::int64_t startup_trials = 10;
        std::int64_t ei_candidates = 24;
        double gamma = 0.1;
        double prior_weight = 1;
    };
    static constexpr void fields(auto field) {
        field("startup_trials", &Config::startup_trials, "trials that are drawn uniformly at first");
        field("ei_candidates", &Config::ei_candidates, "candidates that are compared for one draw");
        field("gamma", &Config::gamma, "share of trials that count as good (at most 25 trials)");
        field("prior_weight", &Config::prior_weight, "weight of the uniform-like prior beside one trial");
    }

    Tpe() : Tpe{Config{}} {}
    explicit Tpe(Config config);

    [[nodiscard]] ParamSet suggest_joint(const TrialContext& trial, Rng& rng) const;

    /// Draws one parameter inside its narrowing, given the values that the trial already has.
    [[nodiscard]] double suggest(const Ask& ask) const;

private:
    struct Estimators {
        TpeParzenEstimator good;
        TpeParzenEstimator other;
    };
    /// The modelled parameters and their values in each observation.
    struct Model {
        std::vector<std::string_view> names;
        std::vector<TpeAxis> axes;

        void add_axis(std::string_view parameter, const Distribution& distribution) {
            names.push_back(parameter);
            axes.emplace_back(distribution);
        }
        [[nodiscard]] Estimators estimators(const TrialContext& trial, const Config& config) const;
        [[nodiscard]] std::vector<std::vector<double>> columns(const std::vector<const ParamSet*>& observations) const;
    };

    static std::vector<Dimension> observed_space(const TrialContext& trial);

    [[nodiscard]] bool has_learned(const History& history) const;

    static std::size_t greatest_ratio(const std::vector<double>& good, const std::vector<double>& other);

    Config config_;
};

static_assert(JointSampler<Tpe> && Configurable<Tpe>);

inline Tpe::Tpe(Config config) : config_{config} {
    if (config.startup_trials < 0) throw bad_value("startup_trials", std::to_string(config.startup_trials), "0 or more");
    if (config.ei_candidates < 1) throw bad_value("ei_candidates", std::to_string(config.ei_candidates), "1 or more");
    if (!(config.gamma > 0 && config.gamma <= 1)) throw bad_value("gamma", display_text(config.gamma), "above 0, at most 1");
    if (!(config.prior_weight > 0) || !std::isfinite(config.prior_weight)) {
        throw bad_value("prior_weight", display_text(config.prior_weight), "above 0");
    }
}

inline ParamSet Tpe::suggest_joint(const TrialContext& trial, Rng& rng) const {
    if (!has_learned(trial.history)) return {};
    Model model;
    std::vector<Dimension> space;
    for (Dimension& dimension : observed_space(trial)) {
        if (!is_single(*dimension.distribution)) space.push_back(std::move(dimension));
    }
    if (space.empty()) return {};
    std::vector<TpePart> parts;
    for (const Dimension& dimension : space) {
        model.add_axis(dimension.name, *dimension.distribution);
        parts.push_back({model.axes.back(), {}});
    }
    const auto [good, other] = model.estimators(trial, config_);
    const auto points = good.draw(parts, static_cast<std::size_t>(config_.ei_candidates), rng);
    const std::size_t best = greatest_ratio(good.log_density(points), other.log_density(points));
    ParamSet drawn;
    for (std::size_t d = 0; d < space.size(); ++d) drawn.set({space[d].name, space[d].distribution, points[d][best]});
    return drawn;
}

inline double Tpe::suggest(const Ask& ask) const {
    const auto part = narrowed(ask.distribution, ask.within);
    const auto uniform = [&] { return draw_uniform(ask.distribution, ask.within, ask.rng); };
    if (!has_learned(ask.trial.history) || is_single(*part)) return uniform();
    const std::vector<Dimension> space = observed_space(ask.trial);
    const auto is_modelled = [&](std::string_view parameter, const Distribution& distribution) {
        for (const Dimension& dimension : space) {
            if (dimension.name == parameter) return !is_single(distribution) && compatible(*dimension.distribution, distribution);
        }
        return false;
    };
    if (!is_modelled(ask.name, ask.distribution)) return uniform();

    Model model;
    std::vector<double> known;
    for (const Param& param : ask.fixed) {
        if (!is_modelled(param.name, *param.distribution)) continue;
        model.add_axis(param.name, *param.distribution);
        known.push_back(param.internal);
    }
    model.add_axis(ask.name, ask.distribution);
    auto [good, other] = model.estimators(ask.trial, config_);
    for (std::size_t d = 0; d < known.size(); ++d) {
        good.condition(d, known[d]);
        other.condition(d, known[d]);
    }
    const std::vector<std::vector<double>> points{
        good.draw(known.size(), {TpeAxis{*part}, ask.within.allowed}, static_cast<std::size_t>(config_.ei_candidates), ask.rng)};
    return points[0][greatest_ratio(good.log_density(points, known.size()), other.log_density(points, known.size()))];
}

inline Tpe::Estimators Tpe::Model::estimators(const TrialContext& trial, const Config& config) const {
    const TpeSplit split = tpe_split(trial.history, trial.number, config.gamma);
    return {TpeParzenEstimator{axes, columns(split.below), split.below.size(), config.prior_weight},
            TpeParzenEstimator{axes, columns(split.above), split.above.size(), config.prior_weight}};
}

inline std::vector<std::vector<double>> Tpe::Model::columns(const std::vector<const ParamSet*>& observations) const {
    std::vector<std::vector<double>> values(axes.size(),
                                            std::vector<double>(observations.size(), std::numeric_limits<double>::quiet_NaN()));
    for (std::size_t i = 0; i < observations.size(); ++i) {
        const ParamSet& params = *observations[i];
        for (std::size_t d = 0; d < axes.size(); ++d) {
            const Param* param = params.find(names[d], d);
            if (param && axes[d].holds(param->internal)) values[d][i] = param->internal;
        }
    }
    return values;
}

inline std::vector<Dimension> Tpe::observed_space(const TrialContext& trial) {
    return inferred_space(trial.history.trials, [&](const Trial& other) { return other.number != trial.number && tpe_observes(other); });
}

inline bool Tpe::has_learned(const History& history) const {
    if (history.directions.size() > 1) {
        throw Error{Errc::usage, "sampler tpe: got " + std::to_string(history.directions.size()) +
                                     " objectives; expected one; known for several: random"};
    }
    std::int64_t ended = 0;
    for (const Trial& trial : history.trials) ended += trial.state == TrialState::complete || trial.state == TrialState::pruned ? 1 : 0;
    return ended >= config_.startup_trials;
}

inline std::size_t Tpe::greatest_ratio(const std::vector<double>& good, const std::vector<double>& other) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < good.size(); ++i) {
        if (good[i] - other[i] > good[best] - other[best]) best = i;
    }
    return best;
}

}  // namespace hpo::sampler
