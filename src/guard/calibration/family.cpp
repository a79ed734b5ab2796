// SPDX-License-Identifier: MIT
#include "hpo/guard/calibration/family.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "hpo/guard/calibration/normal_tail.hpp"

namespace hpo::guard {

void ResidualFamily::add(double residual, bool censored, double keep) {
    fade(keep);
    if (censored) return add_bound({residual, 1});
    const double delta = residual - mean_;
    weight_ += 1;
    mean_ += delta / weight_;
    squares_ += delta * (residual - mean_);
}

void ResidualFamily::fade(double share, double most) {
    const double count = share * total();
    if (count > most) share *= most / count;
    weight_ *= share;
    squares_ *= share;
    for (Bound& bound : bounds_) bound.weight *= share;
}

ResidualFamily::Fit ResidualFamily::fit(const ResidualFamilyPrior& prior) const {
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
        fit.squares += fit.information / (prior_precision + fit.information / variance);  // the centre is uncertain, too
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

double ResidualFamily::total() const {
    double sum = weight_;
    for (const Bound& bound : bounds_) sum += bound.weight;
    return sum;
}

void ResidualFamily::add_bound(Bound bound) {
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

}  // namespace hpo::guard
