// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "hpo/guard/calibration/family.hpp"
#include "hpo/guard/calibration/scores.hpp"

namespace hpo::guard {

/// How far a kind of prediction is expected to be off before any measurement. All are standard deviations of log(true need / predicted
/// need). The defaults are for predictions that run the trainer's own code.
struct ResidualPrior {
    double centre = 0.03;   ///< common to all families
    double between = 0.02;  ///< of families about the common centre
    double within = 0.02;   ///< of one family's configurations
};

/// The forecast of a residual: Student's distribution.
struct ResidualForecast {
    double centre = 0;
    double scale = 1;
    double freedom = 3;
    double within_share = 1;  ///< share of the squared scale that comes from differences within the family
    [[nodiscard]] double quantile(double probability) const;
};

/// The posterior of log(true need / predicted need) for one kind of prediction on one kind of device, partially pooled across families:
///
///     residual of family f ~ normal(m_f, v_f),   m_f ~ normal(m, t),   v_f ~ inverse gamma around v
///
/// m, t and v are found by empirical Bayes, each with a weak prior (Gelman et al., Bayesian Data Analysis, chapter 5.4). The prior of m is
/// Cauchy, so that a constant factor between need and prediction is learned after a few trials. A family without observations is predicted
/// from m, t and v. A family with many observations is predicted from these. Forecasts are Student's distributions, with Satterthwaite's
/// (1946) degrees of freedom for the two variances.
///
/// If the misfit test (scores.hpp) says that the model does not fit, quantiles are conformal ones. A probability may be too extreme for the
/// conformal quantile. Then Student's quantile with a few degrees of freedom is used if it lies further out.
///
/// Drift: a shift that is common to all families follows the errors of forecasts. It acts like a local level in the steady state of a
/// Kalman filter. Each new residual reduces the weight of its family's earlier ones to the share 1 - 1 / memory. A two-sided CUSUM of the
/// scores (Page 1954; reference 0.5, decision 7 standard deviations) detects a sudden change. Then the shift is learned anew, and each
/// family keeps at most the weight of ten residuals.
///
/// Deterministic: the same residuals in the same order give the same state. An observation costs O(families), however many came before.
/// Thread safety: none.
class ResidualPosterior {
public:
    /// `memory`: about how many residuals of a family count.
    ResidualPosterior(const ResidualPrior& prior, double memory) : prior_{prior}, keep_{1 - 1 / memory} { pool(); }

    /// Takes in a residual of `family`. With `censored`, the true residual is above `residual`.
    void observe(std::string_view family, double residual, bool censored);

    [[nodiscard]] ResidualForecast forecast(std::string_view family) const;

    /// The value that the next residual of `family` does not exceed with this probability.
    [[nodiscard]] double quantile(std::string_view family, double probability) const;
    [[nodiscard]] bool misfit() const { return scores_.misfit(); }
    /// How often a sudden change was detected.
    [[nodiscard]] int changes() const noexcept { return changes_; }

private:
    static constexpr double within_freedom = 8;  ///< observations that the common variance within families is worth
    static constexpr double prior_freedom = 1;   ///< families and observations that the priors of t and v are worth
    static constexpr double steady_gain = 0.08;  ///< share of a forecast's error that the common shift takes over
    static constexpr double restart_gain = 0.5;  ///< the same after a change; then 1/3, 1/4, ..., as in a mean
    static constexpr double decision = 7;        ///< of the CUSUM, in standard deviations
    static constexpr int warm_up = 10;           ///< residuals before the first that can show a change
    static constexpr double kept_after_change = 10;
    static constexpr double most_counted = 20;  ///< limit on one family's observations in the common variance

    struct Member {
        ResidualFamily residuals;
        ResidualFamily::Fit fit;
    };

    /// Computes the common centre and the two variances from the families' fits.
    void pool();

    /// Compares a residual with its forecast: updates the scores and detects a change.
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
    double shift_ = 0;  ///< common to all families; their residuals are stored without it
    double gain_ = steady_gain;
    int changes_ = 0;
    int seen_ = 0;
};

}  // namespace hpo::guard
