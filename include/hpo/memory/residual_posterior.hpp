// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "hpo/memory/residual_family.hpp"
#include "hpo/memory/residual_scores.hpp"

namespace hpo::memory {

/// How far a kind of prediction is thought to be off before anything was measured, as standard deviations of log(true need / predicted).
/// The standard is for predictions that run the trainer's own code.
struct ResidualPrior {
    double centre = 0.03;   ///< common to all families
    double between = 0.02;  ///< of families about the common centre
    double within = 0.02;   ///< of one family's configurations
};

/// A residual's predicted distribution: Student's.
struct ResidualForecast {
    double centre = 0;
    double scale = 1;
    double freedom = 3;
    double within_share = 1;  ///< of the scale's square: what configurations of the family differ by
    [[nodiscard]] double quantile(double probability) const;
};

/// The posterior of log(true need / predicted need) for one kind of prediction on one kind of device, partially pooled across families:
///
///     residual of family f ~ normal(m_f, v_f),   m_f ~ normal(m, t),   v_f ~ inverse gamma around v
///
/// m, t and v are found by empirical Bayes, each with a weak prior (Gelman et al., Bayesian Data Analysis, chapter 5.4; the prior of m is
/// Cauchy, so that a prediction that is wrong by a constant factor is believed after a few trials). A family nobody has seen is
/// predicted from m, t and v; one that was seen often by itself. Forecasts are Student's, their degrees of freedom Satterthwaite's
/// (1946) for the two variances. Where the misfit test fails, quantiles are the conformal ones (residual_scores.hpp); what is rarer than
/// these can tell is Student's with a few degrees of freedom, where that lies further out.
///
/// Drift: a shift common to all families follows what forecasts miss, as a local level does in a Kalman filter's steady state; each
/// residual leaves the earlier ones of its family the share 1 - 1 / memory; and when a two-sided CUSUM of the scores (Page 1954; reference
/// 0.5, decision 7 standard deviations) finds a change, the shift is learned anew and each family is left with ten residuals' worth.
///
/// A fold: the same residuals in the same order give the same state. An observation is O(families), whatever was seen before.
/// Thread safety: none.
class ResidualPosterior {
public:
    /// `memory`: residuals of a family that count, about.
    ResidualPosterior(const ResidualPrior& prior, double memory) : prior_{prior}, keep_{1 - 1 / memory} { pool(); }

    /// A residual of `family`, or with `censored` a bound that it is above of.
    void observe(std::string_view family, double residual, bool censored);

    [[nodiscard]] ResidualForecast forecast(std::string_view family) const;

    /// What the next residual of `family` is at most with this probability.
    [[nodiscard]] double quantile(std::string_view family, double probability) const;
    [[nodiscard]] bool misfit() const { return scores_.misfit(); }
    /// Times that a change was found.
    [[nodiscard]] int changes() const noexcept { return changes_; }

private:
    static constexpr double within_freedom = 8;  ///< observations that the common variance within families stands for
    static constexpr double prior_freedom = 1;   ///< families, and observations, that the priors of t and v stand for
    static constexpr double steady_gain = 0.08;  ///< share of a miss that the common shift takes
    static constexpr double restart_gain = 0.5;  ///< the same after a change; then as of a mean, 1/3, 1/4, ...
    static constexpr double decision = 7;        ///< of the CUSUM, in standard deviations
    static constexpr int warm_up = 10;           ///< residuals before which nothing can have changed
    static constexpr double kept_after_change = 10;
    static constexpr double most_counted = 20;  ///< observations of one family for the common variance

    struct Member {
        ResidualFamily residuals;
        ResidualFamily::Fit fit;
    };

    /// The common centre and the two variances, from the families' fits.
    void pool();

    /// Holds a residual against what was forecast for it: the scores, and whether something has changed.
    void judge(const ResidualForecast& told, double residual, bool censored);

    ResidualPrior prior_;
    double keep_;
    std::map<std::string, Member, std::less<>> families_;
    double centre_ = 0;
    double centre_variance_ = 1;
    double between_ = prior_.between * prior_.between;
    double within_ = prior_.within * prior_.within;
    double between_freedom_ = prior_freedom;
    ResidualScores scores_;
    double rise_ = 0;
    double fall_ = 0;
    double shift_ = 0;  ///< common to all families; their residuals are kept without it
    double gain_ = steady_gain;
    int changes_ = 0;
    int seen_ = 0;
};

}  // namespace hpo::memory

#ifndef HPO_COMPILED
#include "hpo/memory/impl/residual_posterior_inl.hpp"
#endif
