// SPDX-License-Identifier: MIT
#include "hpo/sampler/quadratic_step.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using hpo::Rng;
using hpo::sampler::QuadraticStep;
using Point = QuadraticStep::Point;

namespace {

Point anywhere(Point point) { return point; }

template <class Function>
QuadraticStep learned(std::size_t count, std::size_t dimensions, const Function& function, Rng& rng) {
    QuadraticStep step;
    for (std::size_t i = 0; i < count; ++i) {
        Point point(dimensions);
        for (double& coordinate : point) coordinate = rng.uniform();
        step.learn(point, function(point));
    }
    return step;
}

/// The least value after so many steps.
template <class Function>
double least_after(int steps, std::size_t dimensions, const Function& function) {
    Rng rng{5};
    QuadraticStep step = learned(std::max<std::size_t>(2 * dimensions + 2, 6), dimensions, function, rng);
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < steps; ++i) {
        const Point point = step.propose({}, anywhere, rng);
        REQUIRE(point.size() == dimensions);
        const double value = function(point);
        least = std::min(least, value);
        step.learn(point, value);
    }
    return least;
}

/// A valley that lies across all axes, and falls a hundred times faster to its sides. Its least value is 0.
double across(const Point& point) {
    double sum = 0, squares = 0;
    for (const double each : point) {
        sum += each - 0.4;
        squares += (each - 0.4) * (each - 0.4);
    }
    return squares + 100 * sum * sum;
}

double least_at_a_corner(const Point& point) {
    double value = 0;
    for (std::size_t d = 0; d < point.size(); ++d) value += static_cast<double>(d + 1) * point[d];
    return value;
}

}  // namespace

TEST_CASE("quadratic steps reach the bottom of a valley that lies across the axes, and a corner exactly") {
    CHECK(least_after(40, 1, across) < 1e-12);
    CHECK(least_after(40, 2, across) < 1e-12);
    CHECK(least_after(150, 5, across) < 1e-4);
    CHECK(least_after(20, 4, least_at_a_corner) == 0);
}

TEST_CASE("a quadratic step is learned from twice as many points as there are dimensions, and two, at least from six") {
    Rng rng{1};
    CHECK_FALSE(QuadraticStep{}.has_learned());
    CHECK_FALSE(learned(7, 3, across, rng).has_learned());
    CHECK_FALSE(learned(5, 1, across, rng).has_learned());
    CHECK(learned(6, 1, across, rng).has_learned());
    QuadraticStep step = learned(8, 3, across, rng);
    CHECK(step.has_learned());
    step.forget();
    CHECK_FALSE(step.has_learned());
}

TEST_CASE("a quadratic step stays in the box, and depends on the points and the seed alone") {
    Rng rng{2};
    const QuadraticStep step = learned(40, 6, across, rng);
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        Rng one{seed}, other{seed};
        const Point point = step.propose({}, anywhere, one);
        REQUIRE(point.size() == 6);
        CHECK(std::all_of(point.begin(), point.end(), [](double each) { return each >= 0 && each <= 1; }));
        CHECK(point == QuadraticStep{step}.propose({}, anywhere, other));
    }
}

TEST_CASE("a quadratic step goes neither where a trial runs nor to a point of a grid that is known, and gives up if all are") {
    Rng rng{3};
    const auto on_grid = [](Point point) {
        for (double& coordinate : point) coordinate = std::round(coordinate * 4) / 4;
        return point;
    };
    for (const bool has_grid : {false, true}) {
        const QuadraticStep::Admitted admitted = has_grid ? QuadraticStep::Admitted{on_grid} : anywhere;
        QuadraticStep step;
        std::vector<Point> running;
        std::set<Point> all;
        for (int i = 0; i < 8; ++i) {
            const Point point = admitted({rng.uniform(), rng.uniform()});
            step.learn(point, across(point));
            all.insert(point);
        }
        const std::size_t known = all.size();
        for (std::uint64_t worker = 0; worker < 20; ++worker) {
            Rng same{4};  // each would draw the same region
            Point point = step.propose(running, admitted, same);
            if (point.empty()) break;
            CHECK(all.insert(point).second);
            running.push_back(std::move(point));
        }
        CHECK((has_grid || all.size() == known + 20));
    }
    QuadraticStep full;
    for (const double x : {0.0, 0.25, 0.5, 0.75, 1.0}) {
        for (const double y : {0.0, 0.25, 0.5, 0.75, 1.0}) full.learn({x, y}, across({x, y}));
    }
    CHECK(full.propose({}, on_grid, rng).empty());
}

TEST_CASE("a quadratic step does not depend on the order in which points were learned, also if their values are equal") {
    Rng rng{8};
    std::vector<Point> points;
    for (int i = 0; i < 20; ++i) points.push_back({rng.uniform(), rng.uniform()});
    const auto stepped = [&](const auto& first, const auto& last) {
        QuadraticStep step;
        for (auto point = first; point != last; ++point) step.learn(*point, std::floor(4 * (*point)[0]));
        Rng same{5};
        return step.propose({}, anywhere, same);
    };
    CHECK(stepped(points.begin(), points.end()) == stepped(points.rbegin(), points.rend()));
}

TEST_CASE("values without an order, equal and enormous ones give a point of the box") {
    Rng rng{6};
    constexpr double most = std::numeric_limits<double>::max();
    const auto of = [&](const auto& function) {
        for (const std::size_t dimensions : {1U, 2U, 7U, 40U}) {
            const QuadraticStep step = learned(2 * dimensions + 30, dimensions, function, rng);
            for (int i = 0; i < 5; ++i) {
                const Point point = step.propose({}, anywhere, rng);
                REQUIRE(point.size() == dimensions);
                CHECK(std::all_of(point.begin(), point.end(), [](double each) { return each >= 0 && each <= 1; }));
            }
        }
    };
    of([](const Point&) { return 7.0; });
    of([&](const Point& point) { return point[0] < 0.5 ? -most : most; });
    of([&](const Point& point) { return std::exp(700 * point[0]); });
    of([&](const Point& point) { return std::fmod(1e7 * point[0], 1); });
    of([&](const Point& point) { return 1e-300 * point[0]; });
}
