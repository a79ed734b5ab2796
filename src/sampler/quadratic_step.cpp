// SPDX-License-Identifier: MIT
#include "hpo/sampler/quadratic_step.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

namespace hpo::sampler {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// slope * u + u * curvature * u / 2, beside a constant.
struct Quadratic {
    VectorXd slope;
    MatrixXd curvature;

    [[nodiscard]] double operator()(const VectorXd& u) const { return slope.dot(u) + u.dot(curvature * u) / 2; }
};

/// The quadratic of least coefficients among those that pass near the values. `weights` say how near. It is a ridge regression, computed by
/// its kernel (1 + u * v)², so that it costs O(n² (n + dimensions)) however many coefficients there are.
Quadratic fitted(const MatrixXd& points, const VectorXd& values, const VectorXd& weights) {
    constexpr double ridge = 1e-6;
    const MatrixXd products = points * points.transpose();
    MatrixXd kernel = weights.asDiagonal() * ((products.array() + 1).square()).matrix() * weights.asDiagonal();
    kernel.diagonal().array() += ridge * weights.squaredNorm() / static_cast<double>(weights.size());
    const VectorXd shares = weights.cwiseProduct(kernel.ldlt().solve(weights.cwiseProduct(values)));
    return {2 * points.transpose() * shares, 2 * points.transpose() * shares.asDiagonal() * points};
}

/// The least value of a quadratic from `start` in a box, one coordinate after the other.
VectorXd descended(const Quadratic& quadratic, VectorXd start, const VectorXd& low, const VectorXd& high) {
    constexpr int most_rounds = 200;
    for (int round = 0; round < most_rounds; ++round) {
        double moved = 0;
        for (Index d = 0; d < start.size(); ++d) {
            const double bend = quadratic.curvature(d, d);
            const double slope = quadratic.slope[d] + quadratic.curvature.row(d).dot(start) - bend * start[d];
            const auto value = [&](double at) { return slope * at + bend * at * at / 2; };
            const double to = bend > 0 ? std::clamp(-slope / bend, low[d], high[d]) : value(low[d]) < value(high[d]) ? low[d] : high[d];
            moved = std::max(moved, std::fabs(to - start[d]));
            start[d] = to;
        }
        if (moved < 1e-9) break;
    }
    return start;
}

}  // namespace

void QuadraticStep::learn(Point point, double value) {
    points_.push_back(std::move(point));
    values_.push_back(value);
    const std::size_t last = values_.size() - 1;
    if (std::tie(value, points_[last]) < std::tie(values_[best_], points_[best_])) best_ = last;
}

QuadraticStep::Point QuadraticStep::propose(const std::vector<Point>& running, const Admitted& admitted, Rng& rng) const {
    constexpr std::size_t most_points = 250;
    const std::size_t near = std::min(near_count(), points_.size());
    const auto vector = [](const Point& point) { return VectorXd::Map(point.data(), static_cast<Index>(point.size())); };
    const VectorXd center = vector(points_[best_]);
    const Index dimensions = center.size();

    std::vector<std::pair<double, std::size_t>> nearest;  // distance, place
    for (std::size_t i = 0; i < points_.size(); ++i) nearest.emplace_back((vector(points_[i]) - center).norm(), i);
    std::ranges::sort(nearest, [&](const auto& a, const auto& b) {
        return std::tie(a.first, points_[a.second], values_[a.second]) < std::tie(b.first, points_[b.second], values_[b.second]);
    });
    if (nearest.size() > most_points) nearest.resize(most_points);
    const auto count = static_cast<Index>(nearest.size());
    const double radius = std::max(nearest[near - 1].first, 1e-9);

    MatrixXd points(count, dimensions);
    VectorXd values(count), weights(count);
    std::vector<double> near_gaps;  // of values to the best one
    for (Index i = 0; i < count; ++i) {
        const auto& [distance, place] = nearest[static_cast<std::size_t>(i)];
        points.row(i) = (vector(points_[place]) - center) / radius;
        values[i] = values_[place] - values_[best_];
        // What a quadratic leaves out grows as the cube of the distance.
        weights[i] = 1 / (0.3 + std::pow(distance / radius, 3));
        if (distance <= radius && values[i] > 0) near_gaps.push_back(values[i]);
    }
    const auto middle = near_gaps.begin() + std::ssize(near_gaps) / 2;
    std::ranges::nth_element(near_gaps, middle);
    const double near_gap = near_gaps.empty() ? 1 : std::min(*middle, std::numeric_limits<double>::max());
    values = (values / near_gap).cwiseMin(1e9);
    weights.array() /= 1 + values.array();  // large values are far from the bottom
    const Quadratic quadratic = fitted(points, values, weights);

    const double reach = std::pow(10, -2 * rng.uniform());
    const VectorXd low = (-center / radius).cwiseMax(-reach), high = ((1 - center.array()) / radius).matrix().cwiseMin(reach);
    const auto by_chance = [&] {
        VectorXd u(dimensions);
        for (Index d = 0; d < dimensions; ++d) u[d] = low[d] + (high[d] - low[d]) * rng.uniform();
        return u;
    };
    VectorXd step = descended(quadratic, VectorXd::Zero(dimensions), low, high);
    for (int start = 0; start < 4; ++start) {
        const VectorXd other = descended(quadratic, by_chance(), low, high);
        if (quadratic(other) < quadratic(step)) step = other;
    }
    const auto proposed = [&](const VectorXd& u) {
        const VectorXd there = (center + radius * u).cwiseMax(0).cwiseMin(1);
        return admitted({there.begin(), there.end()});
    };
    const auto is_known = [&](const Point& point) {
        constexpr double apart = 1e-4;
        const auto is_near = [&](const Point& other) { return (vector(other) - vector(point)).norm() < apart * radius; };
        return std::ranges::any_of(points_, is_near) || std::ranges::any_of(running, is_near);
    };
    Point point = proposed(step);
    constexpr int most_tries = 50;
    for (int tries = 0; is_known(point); ++tries) {
        if (tries == most_tries) return {};
        point = proposed(0.3 * by_chance());
    }
    return point;
}

}  // namespace hpo::sampler
