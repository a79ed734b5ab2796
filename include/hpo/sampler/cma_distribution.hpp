// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "hpo/core/seed.hpp"
#include "hpo/sampler/truncated_normal.hpp"

namespace hpo::sampler {

/// A symmetric matrix as a product: `vectors[k]` is the eigenvector of unit length that belongs to `values[k]`.
struct EigenSystem {
    std::vector<double> values;
    std::vector<std::vector<double>> vectors;
};

/// Jacobi's cyclic method (Golub and Van Loan, section 8.5). O(d^3) for each of about eight sweeps.
[[nodiscard]] inline EigenSystem eigen_system(std::vector<std::vector<double>> matrix) {
    const std::size_t d = matrix.size();
    EigenSystem system{std::vector<double>(d), std::vector<std::vector<double>>(d, std::vector<double>(d, 0))};
    auto& vectors = system.vectors;
    for (std::size_t i = 0; i < d; ++i) vectors[i][i] = 1;
    constexpr int most_sweeps = 50;
    for (int sweep = 0; sweep < most_sweeps; ++sweep) {
        double off = 0, all = 0;
        for (std::size_t i = 0; i < d; ++i) {
            for (std::size_t j = 0; j < d; ++j) {
                all += matrix[i][j] * matrix[i][j];
                if (i != j) off += matrix[i][j] * matrix[i][j];
            }
        }
        if (!(off > 1e-28 * all)) break;
        for (std::size_t p = 0; p < d; ++p) {
            for (std::size_t q = p + 1; q < d; ++q) {
                if (matrix[p][q] == 0) continue;
                const double theta = (matrix[q][q] - matrix[p][p]) / (2 * matrix[p][q]);
                const double t = (theta >= 0 ? 1 : -1) / (std::fabs(theta) + std::sqrt(theta * theta + 1));
                const double c = 1 / std::sqrt(t * t + 1);
                const double s = t * c;
                for (std::size_t k = 0; k < d; ++k) {
                    const double a = matrix[k][p], b = matrix[k][q];
                    matrix[k][p] = c * a - s * b;
                    matrix[k][q] = s * a + c * b;
                }
                for (std::size_t k = 0; k < d; ++k) {
                    const double a = matrix[p][k], b = matrix[q][k];
                    matrix[p][k] = c * a - s * b;
                    matrix[q][k] = s * a + c * b;
                    const double u = vectors[p][k], v = vectors[q][k];
                    vectors[p][k] = c * u - s * v;
                    vectors[q][k] = s * u + c * v;
                }
            }
        }
    }
    for (std::size_t i = 0; i < d; ++i) system.values[i] = matrix[i][i];
    return system;
}

/// A learning rate that is proportional to the ratio of signal and noise in the steps that it is told (Nomura, Akimoto and Ono 2023,
/// "CMA-ES with Learning Rate Adaptation", arXiv:2304.03473).
class AdaptedRate {
public:
    /// `averaging`: the weight of the latest step in the moving averages.
    explicit AdaptedRate(double averaging) : averaging_{averaging} {}

    [[nodiscard]] double value() const noexcept { return value_; }

    /// `step`: in the coordinates in which what it moves from is a standard normal distribution. Its unit does not matter.
    void adapt(const std::vector<double>& step) {
        average_.resize(step.size(), 0);
        double length = 0, signal = 0;  // squared
        for (std::size_t i = 0; i < step.size(); ++i) {
            average_[i] += averaging_ * (step[i] - average_[i]);
            length += step[i] * step[i];
            signal += average_[i] * average_[i];
        }
        length_ += averaging_ * (length - length_);
        const double noise = length_ - signal;
        if (!(noise > 0)) return;
        const double ratio = (signal - averaging_ / (2 - averaging_) * length_) / noise;
        constexpr double target = 1.4, slowness = 0.1;  // alpha and gamma of the paper
        const double change = std::clamp(ratio / (target * value_) - 1, -1.0, 1.0);
        value_ = std::min(1.0, value_ * std::exp(std::min(slowness * value_, averaging_) * change));
    }

private:
    double averaging_;
    double value_ = 1;
    std::vector<double> average_;
    double length_ = 0;  ///< the average of the steps' squared lengths
};

/// The normal distribution that CMA-ES adapts (Hansen 2016, "The CMA Evolution Strategy: A Tutorial", arXiv:1604.00772). It minimises.
/// A point that the distribution is unlikely to have drawn moves it no further than a likely one (Hansen 2011, "Injecting external
/// solutions into CMA-ES", arXiv:1110.4181). Coordinates on a grid keep a margin (Hamano et al. 2022, "CMA-ES with Margin",
/// arXiv:2205.13482). With `lr_adapt` the mean and the covariance take only a part of each step (see AdaptedRate). The covariance is then
/// the one before the margin's scale, which has no learning rate.
class CmaDistribution {
public:
    struct Options {
        std::size_t population = 0;  ///< 0: 4 + 3 ln d
        double sigma = 1.0 / 6;
        bool separable = false;  ///< a diagonal covariance (Ros and Hansen 2008)
        bool lr_adapt = false;   ///< not with `separable`
    };

    CmaDistribution(std::vector<double> mean, Options options)
        : options_{options},
          mean_{std::move(mean)},
          sigma_{options.sigma},
          path_sigma_(mean_.size(), 0),
          path_c_(mean_.size(), 0),
          scale_(mean_.size(), 1),
          covariance_(mean_.size(), std::vector<double>(mean_.size(), 0)) {
        for (std::size_t i = 0; i < mean_.size(); ++i) covariance_[i][i] = 1;
        set_weights();
        decompose();
    }

    [[nodiscard]] std::size_t dimensions() const noexcept { return mean_.size(); }
    [[nodiscard]] std::size_t population() const noexcept { return population_; }
    [[nodiscard]] const std::vector<double>& mean() const noexcept { return mean_; }
    [[nodiscard]] double deviation(std::size_t i) const { return sigma_ * scale_[i] * std::sqrt(covariance_[i][i]); }
    /// The greatest standard deviation along an axis of the ellipsoid, and how long it is beside the shortest.
    [[nodiscard]] double widest() const { return sigma_ * std::sqrt(eigen_values_.back()); }
    [[nodiscard]] double condition() const { return eigen_values_.back() / eigen_values_.front(); }
    [[nodiscard]] double mean_rate() const noexcept { return mean_rate_.value(); }
    [[nodiscard]] double covariance_rate() const noexcept { return covariance_rate_.value(); }

    /// One point. O(d^2).
    [[nodiscard]] std::vector<double> draw(Rng& rng) const {
        const std::size_t d = dimensions();
        std::vector<double> step(d, 0);
        for (std::size_t k = 0; k < d; ++k) {
            const double length = normal(rng) * std::sqrt(system_.values[k]);
            for (std::size_t i = 0; i < d; ++i) step[i] += length * system_.vectors[k][i];
        }
        std::vector<double> point(d);
        for (std::size_t i = 0; i < d; ++i) point[i] = mean_[i] + sigma_ * scale_[i] * step[i];
        return point;
    }

    /// Takes in a generation: `population()` points, the best first. O(d^3 + population d^2).
    void update(std::span<const std::vector<double>> points) {
        const std::size_t d = dimensions();
        const auto n = static_cast<double>(d);
        std::vector<std::vector<double>> steps;
        std::vector<double> lengths;  // of the whitened steps, squared
        const double longest = std::sqrt(n) + 2 * n / (n + 2);
        for (const std::vector<double>& point : points) {
            std::vector<double> step(d);
            for (std::size_t i = 0; i < d; ++i) step[i] = (point[i] - mean_[i]) / (sigma_ * scale_[i]);
            double length = std::sqrt(squared(whitened(step)));
            if (length > longest) {
                for (double& each : step) each *= longest / length;
                length = longest;
            }
            steps.push_back(std::move(step));
            lengths.push_back(length * length);
        }
        std::vector<double> moved(d, 0);
        for (std::size_t k = 0; k < parents_; ++k) {
            for (std::size_t i = 0; i < d; ++i) moved[i] += weights_[k] * steps[k][i];
        }
        const std::vector<double> white = whitened(moved);
        const double former_rate = mean_rate();
        const double former_sigma = sigma_;
        const std::vector<std::vector<double>> former_covariance = options_.lr_adapt ? covariance_ : std::vector<std::vector<double>>{};
        if (options_.lr_adapt) mean_rate_.adapt(white);
        for (std::size_t i = 0; i < d; ++i) mean_[i] += mean_rate() * sigma_ * scale_[i] * moved[i];

        for (std::size_t i = 0; i < d; ++i)
            path_sigma_[i] = (1 - c_sigma_) * path_sigma_[i] + std::sqrt(c_sigma_ * (2 - c_sigma_) * effective_) * white[i];
        ++generation_;
        const double norm = std::sqrt(squared(path_sigma_));
        const double expected = std::sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
        const double bias = std::sqrt(1 - std::pow(1 - c_sigma_, 2.0 * static_cast<double>(generation_)));
        const double goes_on = norm / bias < (1.4 + 2 / (n + 1)) * expected ? 1 : 0;
        for (std::size_t i = 0; i < d; ++i)
            path_c_[i] = (1 - c_c_) * path_c_[i] + goes_on * std::sqrt(c_c_ * (2 - c_c_) * effective_) * moved[i];
        sigma_ *= std::exp(std::min(1.0, c_sigma_ / d_sigma_ * (norm / expected - 1)));

        const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
        const double kept = 1 + c_1_ * (1 - goes_on) * c_c_ * (2 - c_c_) - c_1_ - c_mu_ * sum;
        for (std::size_t i = 0; i < d; ++i) {
            for (std::size_t j = 0; j <= i; ++j) {
                if (options_.separable && i != j) continue;
                double value = kept * covariance_[i][j] + c_1_ * path_c_[i] * path_c_[j];
                for (std::size_t k = 0; k < steps.size(); ++k) {
                    const double weight = weights_[k] >= 0 ? weights_[k] : weights_[k] * n / std::max(lengths[k], 1e-300);
                    value += c_mu_ * weight * steps[k][i] * steps[k][j];
                }
                covariance_[i][j] = covariance_[j][i] = value;
            }
        }
        if (options_.lr_adapt) {
            take_part_of_step(former_sigma, former_covariance);
            sigma_ *= former_rate / mean_rate();  // the best step size is proportional to 1 / rate
        } else {
            decompose();
        }
        keep_in_range();
    }

    /// Keeps the chance that coordinate `i` leaves the cell of the grid in which the mean lies. `thresholds` are the ends of the cells
    /// within the range, in ascending order.
    void keep_margin(std::size_t i, std::span<const double> thresholds) {
        if (thresholds.empty()) return;
        const double least = 1 / (static_cast<double>(dimensions()) * static_cast<double>(population_));  // alpha of the paper
        const auto above = std::upper_bound(thresholds.begin(), thresholds.end(), mean_[i]);
        const auto quantile = [](double tail) { return -normal_quantile_of_log(std::log(std::min(tail, 0.5))); };  // Phi^-1(1 - tail)
        if (above == thresholds.begin() || above == thresholds.end()) {  // in the first or the last cell: one end
            const double end = above == thresholds.begin() ? thresholds.front() : thresholds.back();
            const double farthest = quantile(least) * deviation(i);
            mean_[i] = end + std::clamp(mean_[i] - end, -farthest, farthest);
            return;
        }
        const double low = *std::prev(above), high = *above;
        const double below_chance = std::exp(log_normal_cdf((low - mean_[i]) / deviation(i)));
        const double above_chance = std::exp(log_normal_cdf((mean_[i] - high) / deviation(i)));
        const double half = least / 2;
        const double below = std::max(half, below_chance), beyond = std::max(half, above_chance);
        const double within = std::max(half, 1 - below_chance - above_chance);
        const double excess = 1 - below - beyond - within;
        const double room = below + beyond + within - 3 * half;
        const double share = room > 0 ? excess / room : 0;
        const double z_low = quantile(below + share * (below - half)), z_high = quantile(beyond + share * (beyond - half));
        if (!(z_low + z_high > 0)) return;
        mean_[i] = (low * z_high + high * z_low) / (z_low + z_high);
        scale_[i] *= (high - low) / (z_low + z_high) / deviation(i);
    }

private:
    [[nodiscard]] static double normal(Rng& rng) {
        const double u = (static_cast<double>(rng() >> 11U) + 0.5) * 0x1.0p-53;
        return u < 0.5 ? normal_quantile_of_log(std::log(u)) : -normal_quantile_of_log(std::log1p(-u));
    }
    [[nodiscard]] static double squared(const std::vector<double>& v) { return std::inner_product(v.begin(), v.end(), v.begin(), 0.0); }

    /// C^(-1/2) v
    [[nodiscard]] std::vector<double> whitened(const std::vector<double>& v) const {
        std::vector<double> white(v.size(), 0);
        for (std::size_t k = 0; k < v.size(); ++k) {
            const double along = std::inner_product(v.begin(), v.end(), system_.vectors[k].begin(), 0.0) / std::sqrt(system_.values[k]);
            for (std::size_t i = 0; i < v.size(); ++i) white[i] += along * system_.vectors[k][i];
        }
        return white;
    }

    /// Goes back from sigma^2 C towards the former one, and makes C one of determinant 1.
    void take_part_of_step(double former_sigma, const std::vector<std::vector<double>>& former) {
        const std::size_t d = dimensions();
        const double grown = sigma_ * sigma_ / (former_sigma * former_sigma);
        std::vector<std::vector<double>> half(d);  // whitened on one side
        for (std::size_t i = 0; i < d; ++i) {
            std::vector<double> row(d);
            for (std::size_t j = 0; j < d; ++j) row[j] = grown * covariance_[i][j] - former[i][j];
            half[i] = whitened(row);
        }
        std::vector<double> step;
        for (std::size_t j = 0; j < d; ++j) {
            std::vector<double> column(d);
            for (std::size_t i = 0; i < d; ++i) column[i] = half[i][j];
            const std::vector<double> white = whitened(column);
            step.insert(step.end(), white.begin(), white.end());
        }
        covariance_rate_.adapt(step);
        const double rate = covariance_rate();
        for (std::size_t i = 0; i < d; ++i) {
            for (std::size_t j = 0; j < d; ++j) covariance_[i][j] = (1 - rate) * former[i][j] + rate * grown * covariance_[i][j];
        }
        decompose();
        double logarithms = 0;
        for (const double value : system_.values) logarithms += std::log(value);
        const double mean_value = std::exp(logarithms / static_cast<double>(d));
        sigma_ = former_sigma * std::sqrt(mean_value);
        for (std::vector<double>& row : covariance_) {
            for (double& each : row) each /= mean_value;
        }
        for (double& value : system_.values) value /= mean_value;
        for (double& value : eigen_values_) value /= mean_value;
    }

    void decompose() {
        if (options_.separable) {
            const std::size_t d = dimensions();
            system_ = {std::vector<double>(d), std::vector<std::vector<double>>(d, std::vector<double>(d, 0))};
            for (std::size_t i = 0; i < d; ++i) {
                system_.values[i] = covariance_[i][i];
                system_.vectors[i][i] = 1;
            }
        } else {
            system_ = eigen_system(covariance_);
        }
        keep_positive_definite();
        eigen_values_ = system_.values;
        std::sort(eigen_values_.begin(), eigen_values_.end());
    }

    /// Bounds the ellipsoid's condition. A margin would let the covariance of a coordinate shrink without an end, because the coordinate's
    /// scale grows instead, and rounding would make it negative.
    void keep_positive_definite() {
        constexpr double most_condition = 1e15;
        const double least = *std::max_element(system_.values.begin(), system_.values.end()) / most_condition;
        if (std::all_of(system_.values.begin(), system_.values.end(), [&](double value) { return value >= least; })) return;
        for (double& value : system_.values) value = std::max(value, least);
        compose();
    }

    /// Keeps the numbers within what a double holds, however long a study without restarts goes on after it has converged.
    void keep_in_range() {
        constexpr double small = 1e-50, large = 1e50;
        const double widest = eigen_values_.back();
        if (widest < small || widest > large) {  // the same distribution by other factors
            sigma_ *= std::sqrt(widest);
            for (double& each : path_c_) each /= std::sqrt(widest);
            for (double& value : system_.values) value /= widest;
            for (double& value : eigen_values_) value /= widest;
            compose();
        }
        sigma_ = std::clamp(sigma_, small, large);
    }

    /// The covariance of the eigen system.
    void compose() {
        for (std::size_t i = 0; i < dimensions(); ++i) {
            for (std::size_t j = 0; j < dimensions(); ++j) {
                covariance_[i][j] = 0;
                for (std::size_t k = 0; k < dimensions(); ++k)
                    covariance_[i][j] += system_.values[k] * system_.vectors[k][i] * system_.vectors[k][j];
            }
        }
    }

    /// The default parameters of the tutorial, table 1.
    void set_weights() {
        const auto n = static_cast<double>(dimensions());
        population_ =
            options_.population > 0 ? std::max<std::size_t>(options_.population, 2) : 4 + static_cast<std::size_t>(3 * std::log(n));
        parents_ = population_ / 2;
        weights_.resize(population_);
        for (std::size_t i = 0; i < population_; ++i)
            weights_[i] = std::log((static_cast<double>(population_) + 1) / 2) - std::log(static_cast<double>(i) + 1);
        const auto sums = [&](std::size_t from, std::size_t to) {
            double sum = 0, squares = 0;
            for (std::size_t i = from; i < to; ++i) sum += weights_[i], squares += weights_[i] * weights_[i];
            return std::pair{sum, squares > 0 ? sum * sum / squares : 0};
        };
        const auto [positive, effective] = sums(0, parents_);
        const auto [negative, effective_negative] = sums(parents_, population_);
        effective_ = effective;
        c_sigma_ = (effective + 2) / (n + effective + 5);
        d_sigma_ = 1 + 2 * std::max(0.0, std::sqrt((effective - 1) / (n + 1)) - 1) + c_sigma_;
        c_c_ = (4 + effective / n) / (n + 4 + 2 * effective / n);
        c_1_ = 2 / ((n + 1.3) * (n + 1.3) + effective);
        c_mu_ = std::min(1 - c_1_, 2 * (0.25 + effective + 1 / effective - 2) / ((n + 2) * (n + 2) + effective));
        if (options_.separable) {
            c_1_ = std::min(0.5, c_1_ * (n + 2) / 3);
            c_mu_ = std::min(1 - c_1_, c_mu_ * (n + 2) / 3);
        }
        const double least = std::min({1 + c_1_ / c_mu_, 1 + 2 * effective_negative / (effective + 2), (1 - c_1_ - c_mu_) / (n * c_mu_)});
        for (std::size_t i = 0; i < population_; ++i) {
            if (i < parents_) weights_[i] /= positive;
            else if (negative < 0) weights_[i] *= least / -negative;
        }
    }

    Options options_;
    std::vector<double> mean_;
    double sigma_;
    std::vector<double> path_sigma_;
    std::vector<double> path_c_;
    AdaptedRate mean_rate_{0.1};
    AdaptedRate covariance_rate_{0.03};
    std::vector<double> scale_;  ///< A of CMA-ES with margin, a diagonal matrix
    std::vector<std::vector<double>> covariance_;
    EigenSystem system_;
    std::vector<double> eigen_values_;  ///< in ascending order
    std::vector<double> weights_;
    std::size_t population_ = 0;
    std::size_t parents_ = 0;
    std::int64_t generation_ = 0;
    double effective_ = 0, c_sigma_ = 0, d_sigma_ = 0, c_c_ = 0, c_1_ = 0, c_mu_ = 0;
};

}  // namespace hpo::sampler
