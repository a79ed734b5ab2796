// SPDX-License-Identifier: MIT
// The parts of the sampler gp: minima in a box, Gaussian processes, expected improvement, and the search for it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "hpo/core/seed.hpp"
#include "sampler/gp/acquisition.hpp"
#include "sampler/gp/box_minimum.hpp"
#include "sampler/gp/gaussian_process.hpp"
#include "sampler/gp/mixed_search.hpp"
#include "support/catch.hpp"

using Eigen::MatrixXd;
using Eigen::VectorXd;
namespace gp = hpo::sampler::gp;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

gp::Observations some_observations(int count, int dimensions) {
    hpo::Rng rng{7};
    gp::Observations observed{MatrixXd(count, dimensions), VectorXd(count)};
    for (int i = 0; i < count; ++i) {
        for (int d = 0; d < dimensions; ++d) observed.points(i, d) = rng.uniform();
        observed.values[i] = std::sin(5 * observed.points(i, 0)) + observed.points(i, 1) * observed.points(i, 1);
    }
    return observed;
}

gp::Kernel some_kernel() { return {(VectorXd(2) << 3, 1.5).finished(), 1.7, 1e-3}; }

VectorXd numeric_gradient(const std::function<double(const VectorXd&)>& function, const VectorXd& at) {
    VectorXd gradient(at.size());
    for (Eigen::Index d = 0; d < at.size(); ++d) {
        VectorXd up = at, down = at;
        up[d] += 1e-5;
        down[d] -= 1e-5;
        gradient[d] = (function(up) - function(down)) / 2e-5;
    }
    return gradient;
}

}  // namespace

TEST_CASE("A minimum in a box is found in Rosenbrock's valley, and at the bounds that cut it off") {
    const gp::SmoothFunction rosenbrock = [](const VectorXd& at, VectorXd& gradient) {
        const double a = at[1] - at[0] * at[0], b = 1 - at[0];
        gradient.resize(2);
        gradient << -400 * a * at[0] - 2 * b, 200 * a;
        return 100 * a * a + b * b;
    };
    const auto from = [&](double high) {
        return gp::minimum_in_box(rosenbrock, (VectorXd(2) << -1.2, 1).finished(), VectorXd::Constant(2, -2), VectorXd::Constant(2, high),
                                  200);
    };
    CHECK(from(2).at[0] == Approx(1).epsilon(1e-3));
    CHECK(from(2).value < 1e-6);
    const gp::BoxMinimum cut = from(0.5);  // there x² <= y is kept by the bound of y
    CHECK(cut.at[0] == Approx(0.5).margin(1e-3));
    CHECK(cut.at[1] == Approx(0.25).margin(1e-3));
}

TEST_CASE("A Gaussian process of one observation has the values of the formula") {
    // Rasmussen and Williams 2006, (2.25) and (2.26), with k = scale * matern(r), r² = weight * distance².
    const gp::Observations one{MatrixXd::Constant(1, 1, 0.25), VectorXd::Constant(1, 2)};
    const gp::GaussianProcess process{one, MatrixXd(0, 1), {VectorXd::Constant(1, 4), 1.5, 0.1}, {0}};
    const double r = std::sqrt(5.0) * 2 * 0.5;  // at 0.75
    const double k = 1.5 * (1 + r + r * r / 3) * std::exp(-r);
    const gp::Prediction known = process.at(VectorXd::Constant(1, 0.75));
    CHECK(k == Approx(1.5 * 0.523994));  // Matérn 5/2 at 1
    CHECK(known.mean == Approx(k * 2 / 1.6));
    CHECK(known.deviation == Approx(std::sqrt(1.5 - k * k / 1.6)));
}

TEST_CASE("A point that is pending makes a process sure and leaves its mean") {
    const gp::Observations observed = some_observations(12, 2);
    const gp::GaussianProcess without{observed, MatrixXd(0, 2), some_kernel(), {0, 0}};
    const VectorXd point = (VectorXd(2) << 0.9, 0.05).finished();
    const gp::GaussianProcess with{observed, point.transpose(), some_kernel(), {0, 0}};
    CHECK(with.at(point).mean == Approx(without.at(point).mean));
    CHECK(with.at(point).deviation < 0.1);
    CHECK(without.at(point).deviation > 2 * with.at(point).deviation);
}

TEST_CASE("The gradients of a prediction are those that differences show") {
    const gp::GaussianProcess process{some_observations(15, 2), MatrixXd::Constant(1, 2, 0.4), some_kernel(), {0, 0}};
    const VectorXd at = (VectorXd(2) << 0.31, 0.77).finished();
    VectorXd of_mean, of_deviation;
    const gp::Prediction known = process.at(at, of_mean, of_deviation);
    CHECK(known.mean == Approx(process.at(at).mean));
    CHECK(known.deviation == Approx(process.at(at).deviation));
    CHECK((of_mean - numeric_gradient([&](const VectorXd& point) { return process.at(point).mean; }, at)).norm() < 1e-6);
    CHECK((of_deviation - numeric_gradient([&](const VectorXd& point) { return process.at(point).deviation; }, at)).norm() < 1e-5);
}

TEST_CASE("The fitted kernel sees which dimension matters, and noise") {
    gp::Observations observed = some_observations(60, 2);
    for (Eigen::Index i = 0; i < 60; ++i) observed.values[i] = std::sin(6 * observed.points(i, 0));
    const gp::Kernel plain = gp::fitted_kernel(observed, {0, 0});
    CHECK(plain.weights[0] > 5 * plain.weights[1]);
    CHECK(plain.noise < 1e-4);
    hpo::Rng rng{3};
    for (Eigen::Index i = 0; i < 60; ++i) observed.values[i] += rng.uniform() - 0.5;
    CHECK(gp::fitted_kernel(observed, {0, 0}).noise > 0.02);  // the variance of that is 1/12
}

TEST_CASE("Two choices are as far apart as any two") {
    const gp::Observations observed{(MatrixXd(3, 1) << 0, 1, 2).finished(), (VectorXd(3) << 1, -1, 0).finished()};
    const gp::GaussianProcess process{observed, MatrixXd(0, 1), {VectorXd::Constant(1, 2), 1, 1e-6}, {1}};
    const gp::Prediction other = process.at(VectorXd::Constant(1, 3));
    CHECK(other.mean == Approx(0).margin(1e-9));  // equally far from 1, -1 and 0
    CHECK(process.at(VectorXd::Constant(1, 1)).mean == Approx(-1).epsilon(1e-3));
}

namespace {

/// A process that knows nothing: mean 0, deviation 1.
gp::GaussianProcess blank(int dimensions) {
    return {{MatrixXd(0, dimensions), VectorXd(0)},
            MatrixXd(0, dimensions),
            {VectorXd::Ones(dimensions), 1, 1e-6},
            std::vector<char>(static_cast<std::size_t>(dimensions), 0)};
}
double log_improvement(double below) {
    const gp::Acquisition acquisition{{blank(1)}, {{{-infinite}, {below}}}, {}};
    return acquisition.at_rows(MatrixXd::Zero(1, 1)).front();
}

}  // namespace

TEST_CASE("Log expected improvement holds where improvement is all but impossible") {
    // log(pdf(z) + z cdf(z)) with 50 digits.
    CHECK(log_improvement(0) == Approx(-0.9189385332046727));
    CHECK(log_improvement(-1) == Approx(-2.4851210257126103));
    CHECK(log_improvement(-10) == Approx(-55.552886230133916));
    CHECK(log_improvement(-24.9) == Approx(-317.3583).epsilon(1e-5));
    CHECK(log_improvement(-25.1) == Approx(-322.3743).epsilon(1e-5));
    CHECK(log_improvement(-100) == Approx(-5010.12957887).epsilon(1e-9));
    CHECK(log_improvement(3) == Approx(std::log(3.000382154317)));
}

TEST_CASE("The expected hypervolume is that of the mean where nothing is uncertain, and its gradient that of differences") {
    gp::Observations observed = some_observations(15, 2);
    const gp::GaussianProcess first{observed, MatrixXd(0, 2), some_kernel(), {0, 0}};
    observed.values = -0.5 * observed.values;
    const gp::GaussianProcess second{observed, MatrixXd(0, 2), some_kernel(), {0, 0}};
    const gp::Acquisition acquisition{{first, second}, hpo::sampler::free_cells({{0.2, 0.4}, {0.5, 0.1}}, {2, 1}), {{second, 0.3}}};
    for (const double x : {0.1, 0.45, 0.95}) {
        const VectorXd at = (VectorXd(2) << x, 0.6).finished();
        VectorXd gradient;
        CHECK(acquisition.at(at, gradient) == Approx(acquisition.at_rows(at.transpose()).front()));
        const auto value = [&](const VectorXd& point) { return acquisition.at_rows(point.transpose()).front(); };
        CHECK((gradient - numeric_gradient(value, at)).norm() < 1e-4 * (1 + gradient.norm()));
    }
}

TEST_CASE("The search finds the most promising point of choices, a grid and a number, and none that is refused") {
    // Values are least at choice 2, grid point 0.75, number 0.3.
    hpo::Rng rng{5};
    gp::Observations observed{MatrixXd(80, 3), VectorXd(80)};
    std::vector<gp::Range> ranges(3);
    ranges[0] = {.values = {0, 1, 2, 3}, .is_choice = true};
    for (int i = 0; i <= 40; ++i) ranges[1].values.push_back(i / 40.0);
    for (Eigen::Index i = 0; i < 80; ++i) {
        observed.points.row(i) << static_cast<double>(rng.below(4)), static_cast<double>(rng.below(41)) / 40, rng.uniform();
        observed.values[i] =
            (observed.points(i, 0) == 2 ? -1 : 0) + std::pow(observed.points(i, 1) - 0.75, 2) + std::pow(observed.points(i, 2) - 0.3, 2);
    }
    const std::vector<char> is_choice{1, 0, 0};
    const gp::GaussianProcess process{observed, MatrixXd(0, 3), gp::fitted_kernel(observed, is_choice), is_choice};
    const gp::Acquisition acquisition{{process}, {{{-infinite}, {-0.9}}}, {}};
    const VectorXd found = gp::most_promising(
        acquisition, ranges, MatrixXd(0, 3), 256, [](const VectorXd&) { return false; }, rng);
    CHECK(found[0] == 2);
    CHECK(found[1] == Approx(0.75).margin(0.051));
    CHECK(found[2] == Approx(0.3).margin(0.05));
    CHECK(std::find(ranges[1].values.begin(), ranges[1].values.end(), found[1]) != ranges[1].values.end());
    const VectorXd other = gp::most_promising(
        acquisition, ranges, MatrixXd(0, 3), 256, [](const VectorXd& point) { return point[0] == 2; }, rng);
    CHECK(other[0] != 2);
}
