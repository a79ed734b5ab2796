// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "hpo/core/field.hpp"
#include "hpo/sampler/concept.hpp"

namespace hpo::sampler {

/// Bayesian optimisation with a Gaussian process (Snoek et al. 2012): a Matérn 5/2 kernel with a length for each parameter, whose
/// hyperparameters are the most probable ones. Proposes the point of the greatest expected improvement (its logarithm: Ament et al. 2023),
/// of several objectives that of the hypervolume (of more than two, some points stand for a large front). Each constraint has a process of
/// its own, and a point counts by the probability that all hold.
///
/// Learns from complete trials. Of trials that a constraint made infeasible, and of refused proposals, it learns the constraint. Running
/// trials make the function less uncertain where they are. Draws uniformly until `startup_trials` trials are complete. One model covers all
/// branches of a conditional space: a parameter that a trial lacks stands in the middle of its range.
///
/// What it proposes follows from the history and the seed alone. At most 500 observations count for a process, and 200 for its
/// hyperparameters, the best and the latest ones. A draw costs O(candidates * 500² + n log n) for n trials. It is linked with hpo::search.
/// Thread safety: none. A copy is independent.
class Gp {
public:
    static constexpr std::string_view name = "gp";
    static constexpr std::string_view summary = "models the values by a Gaussian process and draws where most improvement is expected";
    struct Config {
        std::int64_t startup_trials = 10;
        bool deterministic = false;
        bool power_transform = true;
        bool repeat = true;
    };
    static constexpr void fields(auto field) {
        field("startup_trials", &Config::startup_trials, "trials that are drawn uniformly at first");
        field("deterministic", &Config::deterministic, "the same parameters give the same value: no noise is looked for");
        field("power_transform", &Config::power_transform, "model the power of the values that looks most normal");
        field("repeat", &Config::repeat, "may propose a configuration again that has ended");
    }

    Gp() : Gp{Config{}} {}
    explicit Gp(Config config);
    Gp(const Gp& other);
    Gp& operator=(const Gp& other);
    Gp(Gp&&) noexcept;
    Gp& operator=(Gp&&) noexcept;
    ~Gp();

    [[nodiscard]] ParamSet suggest_joint(const TrialContext& trial, Rng& rng);

    /// Draws one parameter inside its narrowing, given the values that the trial already has.
    [[nodiscard]] double suggest(const Ask& ask);

    /// True if a trial of these parameters has ended, and `repeat` is false. Only where all parameters have few values.
    [[nodiscard]] bool has_ended(const TrialContext& trial, const ParamSet& params);

    /// How much of the variance of the first objective's values is noise, as the process explains the trials: from 0 to about 1. What
    /// changes faster than trials are apart counts as noise, too. Nullopt before it has learned.
    [[nodiscard]] std::optional<double> noise_share(const TrialContext& trial);

private:
    class State;
    std::unique_ptr<State> state_;
};

static_assert(JointSampler<Gp> && Configurable<Gp>);

}  // namespace hpo::sampler
