// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "hpo/core/field.hpp"
#include "hpo/sampler/concept.hpp"
#include "hpo/sampler/tpe_parzen_estimator.hpp"
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

}  // namespace hpo::sampler

#ifndef HPO_COMPILED
#include "hpo/sampler/impl/tpe_inl.hpp"
#endif
