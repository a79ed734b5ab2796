// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace hpo::guard {

/// The prior of one family's residuals: the centre is normal, the variance is inverse gamma.
struct ResidualFamilyPrior {
    double centre = 0;
    double centre_variance = 1;
    double variance = 1;  ///< of residuals within the family
    double freedom = 8;   ///< number of observations that `variance` is worth
};

/// The residuals of one family, as sums of constant size. Older residuals fade. A censored residual is kept as a lower bound, and bounds
/// that are close to each other are merged.
///
/// The model is Tobit's (1958): residuals are normal, and a right-censored one gives P(residual > bound). The centre and the variance are
/// found by the EM steps for censored normal data (Dempster, Laird and Rubin 1977, section 4.1). These replace a censored residual by its
/// expected value, for which the sums are enough. The information of a censored residual is that of the censored likelihood.
///
/// Deterministic. The cost of an observation or a fit does not grow with the number of earlier ones.
class ResidualFamily {
public:
    /// The fitted centre, and the sum of squares about it.
    struct Fit {
        double centre = 0;       ///< from the residuals alone, without the prior
        double information = 0;  ///< number of observations that the centre is worth, at most `count`
        double variance = 1;     ///< including the prior
        double squares = 0;      ///< expected, about the centre; without the prior
        double count = 0;
    };

    /// Adds a residual. With `censored`, the true residual is above `residual`. Earlier ones keep the share `keep` of their weight.
    void add(double residual, bool censored, double keep);
    /// Multiplies the weight of all residuals by `share`, and limits it to `most` observations.
    void fade(double share, double most = HUGE_VAL);

    [[nodiscard]] Fit fit(const ResidualFamilyPrior& prior) const;

private:
    static constexpr std::size_t most_bounds = 12;
    struct Bound {
        double at = 0;
        double weight = 0;
    };

    [[nodiscard]] double total() const;
    /// Inserts a bound in order. If there are too many bounds, merges the two that are closest to each other.
    void add_bound(Bound bound);

    double weight_ = 0;  ///< of the residuals that are not censored
    double mean_ = 0;
    double squares_ = 0;  ///< about the mean
    std::vector<Bound> bounds_;
};

}  // namespace hpo::guard
