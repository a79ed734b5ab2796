// SPDX-License-Identifier: MIT
#include "sampler/gp/gaussian_process.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "sampler/gp/box_minimum.hpp"

namespace hpo::sampler::gp {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double least_noise = 1e-6;
constexpr double jitter = 1e-9;           ///< keeps the matrix of two equal points positive
constexpr double least_variance = 1e-12;  ///< of a prediction

/// The kernel over its scale, at a squared distance.
double shape(double squared) {
    const double r = std::sqrt(5 * squared);
    return (1 + r + r * r / 3) * std::exp(-r);
}
/// The derivative of `shape` by the squared distance.
double slope(double squared) {
    const double r = std::sqrt(5 * squared);
    return -5.0 / 6 * (1 + r) * std::exp(-r);
}

double squared_difference(double a, double b, bool is_choice) { return is_choice ? static_cast<double>(a != b) : (a - b) * (a - b); }

/// log of the posterior density of kernels, negative, and its gradient by the logarithms of weights, scale and noise.
class KernelLoss {
public:
    KernelLoss(const Observations& observed, const std::vector<char>& is_choice)
        : values_{observed.values}, count_{observed.points.rows()}, differences_{count_ * (count_ - 1) / 2, observed.points.cols()} {
        for (Index d = 0; d < observed.points.cols(); ++d) {
            Index pair = 0;
            for (Index j = 0; j < count_; ++j) {
                for (Index i = j + 1; i < count_; ++i)
                    differences_(pair++, d) =
                        squared_difference(observed.points(i, d), observed.points(j, d), is_choice[static_cast<std::size_t>(d)] != 0);
            }
        }
    }

    double operator()(const VectorXd& logs, VectorXd& gradient) const {
        const Index dimensions = differences_.cols();
        const VectorXd weights = logs.head(dimensions).array().exp();
        const double scale = std::exp(logs[dimensions]);
        const double noise = std::exp(logs[dimensions + 1]);
        const VectorXd squared = differences_ * weights;
        MatrixXd covariance(count_, count_);
        VectorXd slopes(squared.size());
        Index pair = 0;
        for (Index j = 0; j < count_; ++j) {
            covariance(j, j) = scale + noise + jitter;
            for (Index i = j + 1; i < count_; ++i, ++pair) {
                const double r = std::sqrt(5 * squared[pair]);
                const double decay = scale * std::exp(-r);
                covariance(i, j) = (1 + r + r * r / 3) * decay;
                slopes[pair] = -5.0 / 6 * (1 + r) * decay;
            }
        }
        const Eigen::LLT<MatrixXd> factor(covariance);  // it reads the lower half alone
        if (factor.info() != Eigen::Success) return std::numeric_limits<double>::infinity();
        MatrixXd inverse = MatrixXd::Identity(count_, count_);
        factor.solveInPlace(inverse);
        const VectorXd alpha = inverse * values_;
        double value = 0.5 * values_.dot(alpha);
        for (Index i = 0; i < count_; ++i) value += std::log(factor.matrixLLT()(i, i));

        // The gradient by an entry of the covariance is (K⁻¹ - alpha alphaᵀ) / 2. Entries beside the diagonal stand twice.
        VectorXd by_squared(squared.size());
        double by_scale = 0, by_noise = 0;
        pair = 0;
        for (Index j = 0; j < count_; ++j) {
            const double diagonal = 0.5 * (inverse(j, j) - alpha[j] * alpha[j]);
            by_noise += diagonal * noise;
            by_scale += diagonal * scale;
            for (Index i = j + 1; i < count_; ++i, ++pair) {
                const double entry = inverse(i, j) - alpha[i] * alpha[j];
                by_scale += entry * covariance(i, j);
                by_squared[pair] = entry * slopes[pair];
            }
        }
        gradient.head(dimensions) = (differences_.transpose() * by_squared).cwiseProduct(weights);
        for (Index d = 0; d < dimensions; ++d) {
            value += 0.1 / weights[d] + 0.1 * weights[d];
            gradient[d] += -0.1 / weights[d] + 0.1 * weights[d];
        }
        value += scale - logs[dimensions];
        gradient[dimensions] = by_scale + scale - 1;
        value += 30 * noise - 0.1 * logs[dimensions + 1];
        gradient[dimensions + 1] = by_noise + 30 * noise - 0.1;
        return value;
    }

private:
    VectorXd values_;
    Index count_;
    MatrixXd differences_;  ///< squared, pairs x dimensions
};

}  // namespace

Kernel fitted_kernel(const Observations& observed, const std::vector<char>& is_choice, bool has_noise) {
    const Index dimensions = observed.points.cols();
    const KernelLoss loss{observed, is_choice};
    const Kernel standard = Kernel::standard(dimensions);
    VectorXd logs(dimensions + 2);
    logs << standard.weights.array().log().matrix(), std::log(standard.scale), std::log(standard.noise);
    constexpr double widest = 10;  // factors of e^10 around 1
    VectorXd low = VectorXd::Constant(dimensions + 2, -widest);
    VectorXd high = VectorXd::Constant(dimensions + 2, widest);
    low[dimensions + 1] = std::log(least_noise);
    high[dimensions + 1] = has_noise ? 0 : low[dimensions + 1];
    if (!has_noise) logs[dimensions + 1] = low[dimensions + 1];
    const VectorXd best = minimum_in_box(loss, logs, low, high, 60, 1e-2).at;
    return {best.head(dimensions).array().exp(), std::exp(best[dimensions]), std::exp(best[dimensions + 1])};
}

GaussianProcess::GaussianProcess(const Observations& observed, const MatrixXd& pending, Kernel kernel, std::vector<char> is_choice)
    : kernel_{std::move(kernel)}, is_choice_{std::move(is_choice)} {
    const Index known = observed.points.rows();
    points_.resize(observed.points.cols(), known + pending.rows());
    points_.leftCols(known) = observed.points.transpose();
    points_.rightCols(pending.rows()) = pending.transpose();
    MatrixXd covariance(points_.cols(), points_.cols());
    for (Index j = 0; j < points_.cols(); ++j) {
        covariance(j, j) = kernel_.scale + kernel_.noise + jitter;
        for (Index i = j + 1; i < points_.cols(); ++i) covariance(i, j) = kernel_.scale * shape(squared_distance(points_.col(j), i));
    }
    factor_.compute(covariance);
    // The factor of the observations alone is the upper left part of the whole.
    const auto of_observed = factor_.matrixLLT().topLeftCorner(known, known);
    alpha_ = of_observed.triangularView<Eigen::Lower>().solve(observed.values);
    of_observed.triangularView<Eigen::Lower>().adjoint().solveInPlace(alpha_);
}

double GaussianProcess::squared_distance(const VectorXd& point, Index row) const {
    double sum = 0;
    for (Index d = 0; d < point.size(); ++d)
        sum += kernel_.weights[d] * squared_difference(point[d], points_(d, row), is_choice_[static_cast<std::size_t>(d)] != 0);
    return sum;
}

Prediction GaussianProcess::at(const VectorXd& point) const { return at_rows(point.transpose()).front(); }

Prediction GaussianProcess::at(const VectorXd& point, VectorXd& of_mean, VectorXd& of_deviation) const {
    const Index count = points_.cols();
    VectorXd covariance(count), slopes(count);
    for (Index i = 0; i < count; ++i) {
        const double squared = squared_distance(point, i);
        covariance[i] = kernel_.scale * shape(squared);
        slopes[i] = kernel_.scale * slope(squared);
    }
    const VectorXd solved = factor_.solve(covariance);
    const double variance = std::max(kernel_.scale - covariance.dot(solved), least_variance);
    const Prediction known{covariance.head(alpha_.size()).dot(alpha_), std::sqrt(variance)};
    of_mean.setZero(point.size());
    of_deviation.setZero(point.size());
    for (Index d = 0; d < point.size(); ++d) {
        if (is_choice_[static_cast<std::size_t>(d)] != 0) continue;
        for (Index i = 0; i < count; ++i) {
            const double changed = slopes[i] * 2 * kernel_.weights[d] * (point[d] - points_(d, i));  // of the covariance
            if (i < alpha_.size()) of_mean[d] += changed * alpha_[i];
            of_deviation[d] -= changed * solved[i];
        }
    }
    of_deviation /= known.deviation;
    return known;
}

std::vector<Prediction> GaussianProcess::at_rows(const MatrixXd& points) const {
    MatrixXd covariance(points_.cols(), points.rows());
    for (Index j = 0; j < points.rows(); ++j) {
        const VectorXd point = points.row(j);
        for (Index i = 0; i < points_.cols(); ++i) covariance(i, j) = kernel_.scale * shape(squared_distance(point, i));
    }
    const VectorXd means = covariance.topRows(alpha_.size()).transpose() * alpha_;
    factor_.matrixL().solveInPlace(covariance);
    std::vector<Prediction> predictions;
    for (Index j = 0; j < points.rows(); ++j) {
        const double variance = kernel_.scale - covariance.col(j).squaredNorm();
        predictions.push_back({means[j], std::sqrt(std::max(variance, least_variance))});
    }
    return predictions;
}

}  // namespace hpo::sampler::gp
