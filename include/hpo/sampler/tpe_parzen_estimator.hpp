// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <vector>

#include "hpo/sampler/tpe_kernels.hpp"

namespace hpo::sampler {

/// A density over several parameters at once: a weighted sum of product kernels, one for each observation and one for the prior.
/// Observations weigh 1. If there are more than 25, all but the latest 25 fade, down to 1/n for the oldest. Densities are not normalised,
/// because only their ratios matter.
class TpeParzenEstimator {
public:
    /// `columns[axis][i]` is the internal value of observation i, or NaN if it lacks the parameter. Observations are in order from oldest
    /// to newest.
    TpeParzenEstimator(const std::vector<TpeAxis>& axes, const std::vector<std::vector<double>>& columns, std::size_t observations,
                       double prior_weight);

    /// Conditions on the value of one parameter. The rest is the density of the others given `internal`.
    void condition(std::size_t axis, double internal) { kernels_[axis].add_log_density({&internal, 1}, log_weights_); }

    /// Draws `count` points, each axis inside its part. result[axis][i] is an internal value.
    [[nodiscard]] std::vector<std::vector<double>> draw(const std::vector<TpePart>& parts, std::size_t count, Rng& rng) const;

    /// Draws `count` values of one axis inside `part`, from the density restricted to it.
    [[nodiscard]] std::vector<double> draw(std::size_t axis, const TpePart& part, std::size_t count, Rng& rng) const;

    /// The log density at each of the points. points[j] holds the values of axis `first + j`.
    [[nodiscard]] std::vector<double> log_density(const std::vector<std::vector<double>>& points, std::size_t first = 0) const;

private:
    static std::vector<double> cumulated(const std::vector<double>& log_weights);
    static std::size_t drawn_index(const std::vector<double>& cumulative, Rng& rng) {
        const auto found = std::upper_bound(cumulative.begin(), cumulative.end(), rng.uniform() * cumulative.back());
        return std::min(static_cast<std::size_t>(found - cumulative.begin()), cumulative.size() - 1);
    }

    std::vector<double> log_weights_;  ///< by kernel; the prior's is the last
    std::vector<TpeKernels> kernels_;  ///< by axis
};

}  // namespace hpo::sampler

#ifndef HPO_COMPILED
#include "hpo/sampler/impl/tpe_parzen_estimator_inl.hpp"
#endif
