// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <vector>

#include "hpo/sampler/tpe_kernels.hpp"

namespace hpo::sampler {

/// A density over several parameters at once: a weighted sum of product kernels, one for each observation and the prior.
/// Observations weigh 1, but where there are more than 25 all but the latest 25 fade, down to 1/n for the oldest.
/// Densities are unnormalised: their ratios are what counts.
class TpeParzenEstimator {
public:
    /// `columns[axis][i]` is observation i's internal value, NaN where it lacks the parameter; from oldest to newest.
    TpeParzenEstimator(const std::vector<TpeAxis>& axes, const std::vector<std::vector<double>>& columns, std::size_t observations,
                       double prior_weight);

    /// Takes one parameter as known: what remains is the density of the others given `internal`.
    void condition(std::size_t axis, double internal) { kernels_[axis].add_log_density({&internal, 1}, log_weights_); }

    /// `count` points, each axis inside its part; result[axis][i] in internal values.
    [[nodiscard]] std::vector<std::vector<double>> draw(const std::vector<TpePart>& parts, std::size_t count, Rng& rng) const;

    /// `count` values of one axis inside `part`, from the density restricted to it.
    [[nodiscard]] std::vector<double> draw(std::size_t axis, const TpePart& part, std::size_t count, Rng& rng) const;

    /// The log density at each of the points; points[j] holds the values of axis `first + j`.
    [[nodiscard]] std::vector<double> log_density(const std::vector<std::vector<double>>& points, std::size_t first = 0) const;

private:
    static std::vector<double> cumulated(const std::vector<double>& log_weights);
    static std::size_t drawn_index(const std::vector<double>& cumulative, Rng& rng) {
        const auto found = std::upper_bound(cumulative.begin(), cumulative.end(), rng.uniform() * cumulative.back());
        return std::min(static_cast<std::size_t>(found - cumulative.begin()), cumulative.size() - 1);
    }

    std::vector<double> log_weights_;  ///< by kernel, the prior's last
    std::vector<TpeKernels> kernels_;  ///< by axis
};

}  // namespace hpo::sampler

#ifndef HPO_COMPILED
#include "hpo/sampler/impl/tpe_parzen_estimator_inl.hpp"
#endif
