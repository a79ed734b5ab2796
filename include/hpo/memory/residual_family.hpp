// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "hpo/memory/normal_tail.hpp"

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
    void add(double residual, bool censored, double keep) {
        fade(keep);
        if (censored) return add_bound({residual, 1});
        const double delta = residual - mean_;
        weight_ += 1;
        mean_ += delta / weight_;
        squares_ += delta * (residual - mean_);
    }
    /// Lets what is known count as `share` of itself, and as no more than `most` observations.
    void fade(double share, double most = HUGE_VAL) {
        const double count = share * total();
        if (count > most) share *= most / count;
        weight_ *= share;
        squares_ *= share;
        for (Bound& bound : bounds_) bound.weight *= share;
    }

    [[nodiscard]] Fit fit(const ResidualFamilyPrior& prior) const {
        const double prior_precision = 1 / prior.centre_variance;
        double centre = weight_ > 0 ? mean_ : prior.centre;
        double variance = prior.variance;
        Fit fit;
        fit.count = total();
        for (int step = 0; step < (bounds_.empty() ? 4 : 40); ++step) {
            const double scale = std::sqrt(variance);
            double sum = weight_ * mean_;
            fit.information = weight_;
            for (const Bound& bound : bounds_) {
                const double a = (bound.at - centre) / scale;
                const double hazard = normal_hazard(a);
                sum += bound.weight * (centre + scale * hazard);
                fit.information += bound.weight * std::clamp(hazard * (hazard - a), 0.0, 1.0);
            }
            const double next = (prior_precision * prior.centre + sum / variance) / (prior_precision + fit.count / variance);
            fit.squares = squares_ + weight_ * (mean_ - next) * (mean_ - next);
            for (const Bound& bound : bounds_) {
                const double a = (bound.at - centre) / scale;
                const double hazard = normal_hazard(a);
                const double off = centre + scale * hazard - next;
                fit.squares += bound.weight * (off * off + variance * std::max(0.0, 1 + a * hazard - hazard * hazard));
            }
            fit.squares += fit.information / (prior_precision + fit.information / variance);  // the centre is not known either
            const double moved = std::fabs(next - centre);
            centre = next;
            variance = (prior.freedom * prior.variance + fit.squares) / (prior.freedom + fit.count);
            if (moved < 1e-3 * scale && step > 2) break;
        }
        fit.variance = variance;
        const double precision = fit.information / variance;
        fit.centre = precision > 0 ? ((prior_precision + precision) * centre - prior_precision * prior.centre) / precision : prior.centre;
        return fit;
    }

private:
    static constexpr std::size_t most_bounds = 12;
    struct Bound {
        double at = 0;
        double weight = 0;
    };

    [[nodiscard]] double total() const {
        double sum = weight_;
        for (const Bound& bound : bounds_) sum += bound.weight;
        return sum;
    }
    /// Keeps the bounds in order, and joins the two that are nearest to each other when there are too many.
    void add_bound(Bound bound) {
        bounds_.insert(std::upper_bound(bounds_.begin(), bounds_.end(), bound, [](Bound a, Bound b) { return a.at < b.at; }), bound);
        if (bounds_.size() <= most_bounds) return;
        std::size_t nearest = 1;
        for (std::size_t i = 2; i < bounds_.size(); ++i) {
            if (bounds_[i].at - bounds_[i - 1].at < bounds_[nearest].at - bounds_[nearest - 1].at) nearest = i;
        }
        Bound& kept = bounds_[nearest - 1];
        const Bound& joined = bounds_[nearest];
        const double weight = kept.weight + joined.weight;
        if (weight > 0) kept.at = (kept.weight * kept.at + joined.weight * joined.at) / weight;
        kept.weight = weight;
        bounds_.erase(bounds_.begin() + static_cast<std::ptrdiff_t>(nearest));
    }

    double weight_ = 0;  ///< of the exact residuals
    double mean_ = 0;
    double squares_ = 0;  ///< about the mean
    std::vector<Bound> bounds_;
};

}  // namespace hpo::memory
