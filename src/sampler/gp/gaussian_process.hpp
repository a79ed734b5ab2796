// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <vector>

namespace hpo::sampler::gp {

/// Observations: row i of `points` has the value values[i].
struct Observations {
    Eigen::MatrixXd points;  ///< observations x dimensions; numbers in [0, 1], choices as their index
    Eigen::VectorXd values;  ///< about standardised
};

/// A Matérn 5/2 kernel with a length for each dimension (ARD), and noise: k(r) = scale (1 + sqrt(5) r + 5/3 r²) exp(-sqrt(5) r), where
/// r² = sum of weights[d] times the squared distance in d. Two different choices are 1 apart.
struct Kernel {
    Eigen::VectorXd weights;  ///< by dimension: 1 / length²
    double scale = 1;
    double noise = 1e-6;  ///< variance

    [[nodiscard]] static Kernel standard(Eigen::Index dimensions) { return {Eigen::VectorXd::Ones(dimensions), 1, 1e-2}; }
};

/// The kernel of the greatest posterior density given the observations. The priors are those that Optuna's documentation names:
/// Gamma(2, 1) of the scale, Gamma(1.1, 30) of the noise, and exp(-0.1 / w - 0.1 w) of each weight. O(n³) for each of about 60 steps, and
/// n² dimensions numbers. Where the values have no noise, its variance is the least that there can be.
[[nodiscard]] Kernel fitted_kernel(const Observations& observed, const std::vector<char>& is_choice, bool has_noise = true);

/// What is known of a function's value at a point: a normal distribution.
struct Prediction {
    double mean = 0;
    double deviation = 0;
};

/// A function of which some values are known (Rasmussen and Williams 2006, section 2.2). Its mean is 0 where nothing is near.
class GaussianProcess {
public:
    /// `pending` are points that are known soon: they make the function less uncertain where they are, and leave its mean as it is.
    GaussianProcess(const Observations& observed, const Eigen::MatrixXd& pending, Kernel kernel, std::vector<char> is_choice);

    /// O(n²).
    [[nodiscard]] Prediction at(const Eigen::VectorXd& point) const;
    /// The same, with the gradients of mean and deviation by the coordinates of numbers; those of choices are 0.
    [[nodiscard]] Prediction at(const Eigen::VectorXd& point, Eigen::VectorXd& of_mean, Eigen::VectorXd& of_deviation) const;
    /// Of each row. O(rows n²).
    [[nodiscard]] std::vector<Prediction> at_rows(const Eigen::MatrixXd& points) const;

private:
    [[nodiscard]] double squared_distance(const Eigen::VectorXd& point, Eigen::Index row) const;

    Kernel kernel_;
    std::vector<char> is_choice_;
    Eigen::MatrixXd points_;  ///< dimensions x n: observations, then pending points
    Eigen::VectorXd alpha_;   ///< of the observations, K⁻¹ y
    Eigen::LLT<Eigen::MatrixXd> factor_;
};

}  // namespace hpo::sampler::gp
