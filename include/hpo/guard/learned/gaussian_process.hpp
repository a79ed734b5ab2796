// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

namespace hpo::guard {

/// A normal distribution.
struct NormalBelief {
    double mean = 0;
    double variance = 0;
};

/// Regression by a Gaussian process (Rasmussen and Williams 2006, algorithm 2.1). Its kernel is a Matern 5/2 kernel with a length scale for
/// each input, plus a linear one with the same scales: the first follows what was seen, the second goes on beyond it. The hyperparameters
/// maximise the posterior density under log-normal priors, found by a search along each of them in turn.
///
/// A point may also have features: numbers in which the mean is linear, with coefficients that are normal with deviation 1.
///
/// An input is a row of numbers in which 1 is a large step. A category is a whole number: two of them are equal or 1 apart. NaN is an input
/// that the point does not have, a category of its own. Deterministic. A fit of n points costs O(n^3), a prediction O(n^2).
class GaussianProcess {
public:
    struct Point {
        std::vector<double> row;
        std::vector<double> features{};  ///< as many in every point
        double weight = 1;               ///< its noise has a variance that is so many times smaller
    };
    /// `categorical` says which inputs are categories. `points` and `values` are of equal length, and every row is as long as
    /// `categorical`. With `search` false, the hyperparameters of the last fit stay, if there was one with as many inputs.
    void fit(std::vector<bool> categorical, std::vector<Point> points, std::vector<double> values, bool search);

    /// Of a new observation, its noise included. The process must be fitted.
    [[nodiscard]] NormalBelief predict(const Point& point) const;

private:
    /// Logarithms, so that a search step is a factor.
    struct Hyperparameters {
        std::vector<double> lengths;  ///< of each input
        double amplitude = 0;         ///< of the Matern kernel: its standard deviation
        double slope = 0;             ///< of the linear kernel
        double noise = 0;
    };

    [[nodiscard]] double kernel(const Point& a, const Point& b) const;
    /// Sets factors_ from hyper_, factorises the kernel matrix into lower_ and solves for weights_. Returns the log posterior density up to
    /// a constant.
    double factorise();
    void search();

    std::vector<bool> categorical_;
    std::vector<Point> points_;
    std::vector<double> centred_;  ///< values without their mean
    std::vector<double> centre_;   ///< of each input that is no category
    double mean_ = 0;
    double spread_ = 1;  ///< the priors are relative to this
    Hyperparameters hyper_;
    /// What the kernel multiplies with, from hyper_.
    struct Factors {
        std::vector<double> inputs;                  ///< 1 / length squared
        double amplitude = 0, slope = 0, noise = 0;  ///< variances
    } factors_;
    std::vector<double> lower_;  ///< n x n, row by row
    std::vector<double> weights_;
};

}  // namespace hpo::guard
