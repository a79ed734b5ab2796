// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "hpo/sampler/tpe_kernels.hpp"

namespace hpo::sampler {

/// The log of the weight of the observation that is older than all but `place` of `count`. It is 1 for the latest 25. Before them it fades,
/// down to 1 / count for the oldest.
[[nodiscard]] inline double tpe_log_weight(std::size_t place, std::size_t count) {
    const std::size_t fading = count > 25 ? count - 25 : 0;
    if (place >= fading) return 0;
    const double oldest = 1 / static_cast<double>(count);
    const double age = fading > 1 ? static_cast<double>(place) / static_cast<double>(fading - 1) : 0;
    return std::log(oldest + age * (1 - oldest));
}

/// A density over several parameters at once: a weighted sum of product kernels, one for each observation and one for the prior.
/// Observations weigh 1. If there are more than 25, all but the latest 25 fade, down to 1/n for the oldest. Densities are not normalised,
/// because only their ratios matter.
class TpeParzenEstimator {
public:
    /// `columns[axis][i]` is the internal value of observation i, or NaN if it lacks the parameter. Observations are in order from oldest
    /// to newest.
    TpeParzenEstimator(const std::vector<ModelAxis>& axes, const std::vector<std::vector<double>>& columns, std::size_t observations,
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

inline TpeParzenEstimator::TpeParzenEstimator(const std::vector<ModelAxis>& axes, const std::vector<std::vector<double>>& columns,
                                              std::size_t observations, double prior_weight) {
    log_weights_.reserve(observations + 1);
    for (std::size_t i = 0; i < observations; ++i) log_weights_.push_back(tpe_log_weight(i, observations));
    log_weights_.push_back(observations > 0 ? std::log(prior_weight) : 0);
    kernels_.reserve(axes.size());
    for (std::size_t d = 0; d < axes.size(); ++d) kernels_.emplace_back(axes[d], columns[d], prior_weight);
}

inline std::vector<std::vector<double>> TpeParzenEstimator::draw(const std::vector<TpePart>& parts, std::size_t count, Rng& rng) const {
    const std::vector<double> cumulative = cumulated(log_weights_);
    std::vector<std::vector<double>> points(kernels_.size(), std::vector<double>(count));
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t kernel = drawn_index(cumulative, rng);
        for (std::size_t d = 0; d < kernels_.size(); ++d) points[d][i] = kernels_[d].draw(kernel, parts[d], rng);
    }
    return points;
}

inline std::vector<double> TpeParzenEstimator::draw(std::size_t axis, const TpePart& part, std::size_t count, Rng& rng) const {
    std::vector<double> inside = log_weights_;
    for (std::size_t k = 0; k < inside.size(); ++k) inside[k] += kernels_[axis].log_mass(k, part);
    const std::vector<double> cumulative = cumulated(inside);
    std::vector<double> values(count);
    for (double& value : values) value = kernels_[axis].draw(drawn_index(cumulative, rng), part, rng);
    return values;
}

inline std::vector<double> TpeParzenEstimator::log_density(const std::vector<std::vector<double>>& points, std::size_t first) const {
    const std::size_t count = points.front().size();
    const std::size_t kernels = log_weights_.size();
    std::vector<double> terms;
    terms.reserve(count * kernels);
    for (std::size_t i = 0; i < count; ++i) terms.insert(terms.end(), log_weights_.begin(), log_weights_.end());
    for (std::size_t j = 0; j < points.size(); ++j) kernels_[first + j].add_log_density(points[j], terms);
    std::vector<double> densities(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::span<const double> row{terms.data() + i * kernels, kernels};
        const double high = *std::max_element(row.begin(), row.end());
        double sum = 0;
        for (const double term : row) sum += std::exp(term - high);
        densities[i] = high + std::log(sum);
    }
    return densities;
}

inline std::vector<double> TpeParzenEstimator::cumulated(const std::vector<double>& log_weights) {
    const double high = *std::max_element(log_weights.begin(), log_weights.end());
    std::vector<double> sums;
    sums.reserve(log_weights.size());
    double sum = 0;
    for (const double weight : log_weights) sums.push_back(sum += std::exp(weight - high));
    return sums;
}

}  // namespace hpo::sampler
