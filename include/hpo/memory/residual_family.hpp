// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace hpo::memory {

/// What is believed of one family's residuals before it has any: its centre is normal, its variance inverse gamma.
struct ResidualFamilyPrior {
    double centre = 0;
    double centre_variance = 1;
    double variance = 1;  ///< within the family
    double freedom = 8;   ///< observations that `variance` stands for
};

/// The residuals of one family, as sums that do not grow: older ones fade, and bounds of those that are only known from below are
/// brought together where they are near to each other.
///
/// The model is Tobit's (1958): residuals are normal, and a right-censored one says P(residual > bound). Its centre and variance are
/// found by the EM steps for censored normal data (Dempster, Laird and Rubin 1977, section 4.1): censored residuals are replaced by what
/// is expected of them, which closes over the sums; the information they carry is that of the censored likelihood.
/// Deterministic; an observation and a fit cost the same whatever came before.
class ResidualFamily {
public:
    /// What a fit says of the centre, and the sum of squares about it.
    struct Fit {
        double centre = 0;       ///< by the residuals alone
        double information = 0;  ///< observations that the centre is worth, at most `count`
        double variance = 1;     ///< prior included
        double squares = 0;      ///< expected, about the centre; prior not included
        double count = 0;
    };

    /// Takes a residual in, or with `censored` a bound that it is above of. What is known already keeps the share `keep`.
    void add(double residual, bool censored, double keep);
    /// Lets what is known count as `share` of itself, and as no more than `most` observations.
    void fade(double share, double most = HUGE_VAL);

    [[nodiscard]] Fit fit(const ResidualFamilyPrior& prior) const;

private:
    static constexpr std::size_t most_bounds = 12;
    struct Bound {
        double at = 0;
        double weight = 0;
    };

    [[nodiscard]] double total() const;
    /// Keeps the bounds in order, and joins the two that are nearest to each other when there are too many.
    void add_bound(Bound bound);

    double weight_ = 0;  ///< of the exact residuals
    double mean_ = 0;
    double squares_ = 0;  ///< about the mean
    std::vector<Bound> bounds_;
};

}  // namespace hpo::memory

#ifndef HPO_COMPILED
#include "hpo/memory/impl/residual_family_inl.hpp"
#endif
