// SPDX-License-Identifier: MIT
#include "hpo/sampler/tpe_parzen_estimator.hpp"

#include "hpo/core/value.hpp"
#include "support/catch.hpp"

using namespace hpo::sampler;  // NOLINT: a test of this namespace

namespace {

const double lacking = std::nan("");

const std::vector<ModelAxis> axes{ModelAxis{hpo::FloatDistribution{1e-5, 1e-1, true, {}}},
                                  ModelAxis{hpo::FloatDistribution{0, 0.5, false, 0.1}}, ModelAxis{hpo::IntDistribution{1, 64, true}},
                                  ModelAxis{hpo::FloatDistribution{-5, 5, false, {}}},
                                  ModelAxis{hpo::CategoricalDistribution{{hpo::Value{"a"}, hpo::Value{"b"}, hpo::Value{"c"}}}}};

std::vector<TpePart> whole(const std::vector<ModelAxis>& each) {
    std::vector<TpePart> parts;
    for (const ModelAxis& axis : each) parts.push_back({axis, {}});
    return parts;
}

}  // namespace

TEST_CASE("the joint density is Optuna's") {
    // Recorded once with optuna 5.0.0: _ParzenEstimator.log_pdf with default weights, for these observations and points.
    const std::vector<std::vector<double>> observed{
        {1e-3, 1e-2, 1e-3, 2e-5}, {0.2, 0.2, 0.5, 0}, {1, 8, 8, 64}, {0.5, -5, 4, 0.5}, {0, 2, 2, 1}};
    const std::vector<std::vector<double>> points{{1e-3, 1e-5, 5e-2}, {0.2, 0.5, 0}, {8, 1, 33}, {0, 5, -2}, {2, 0, 1}};
    const auto found = TpeParzenEstimator{axes, observed, 4, 1}.log_density(points);
    const std::vector<double> expected{-10.320083165880208, -9.956463462729811, -12.805595863524378};
    const double total_weight = std::log(5);  // ours is not normalised
    for (std::size_t i = 0; i < 3; ++i) CHECK(found[i] - total_weight == Approx(expected[i]).epsilon(1e-12));
}

TEST_CASE("the density of a grid and of choices sums to one") {
    for (const std::size_t axis : {1U, 2U, 4U}) {
        const std::vector<std::vector<double>> observed{axis == 1   ? std::vector<double>{0.1, 0.5, lacking}
                                                        : axis == 2 ? std::vector<double>{3, 64, lacking}
                                                                    : std::vector<double>{2, 2, lacking}};
        std::vector<std::vector<double>> points(1);
        for (double x = axes[axis].first; x <= axes[axis].last + 1e-9; x += axis == 1 ? 0.1 : 1) points[0].push_back(x);
        double sum = 0;
        for (const double density : TpeParzenEstimator{{axes[axis]}, observed, 3, 1}.log_density(points)) sum += std::exp(density);
        CHECK(sum == Approx(4));  // four kernels of weight 1
    }
}

TEST_CASE("an observation that lacks a parameter has the prior's kernel there") {
    const std::vector<ModelAxis> x{axes[3]};
    const auto with = TpeParzenEstimator{x, {{1, lacking, lacking}}, 3, 1}.log_density(std::vector<std::vector<double>>{{-4, 1}});
    const auto one = TpeParzenEstimator{x, {{1}}, 1, 1}.log_density(std::vector<std::vector<double>>{{-4, 1}});
    const auto none = TpeParzenEstimator{x, {{}}, 0, 1}.log_density(std::vector<std::vector<double>>{{-4, 1}});
    for (std::size_t i = 0; i < 2; ++i) CHECK(std::exp(with[i]) == Approx(std::exp(one[i]) + 2 * std::exp(none[i])));
}

TEST_CASE("a density given one parameter is the joint density along it") {
    const std::vector<std::vector<double>> observed{
        {1e-3, 1e-2, lacking, 2e-5}, {0.2, lacking, 0.5, 0}, {1, 8, 8, 64}, {0.5, -5, 4, lacking}, {0, 2, lacking, 1}};
    TpeParzenEstimator given{axes, observed, 4, 1};
    const TpeParzenEstimator joint = given;
    for (const auto& [axis, value] : {std::pair{0U, 1e-4}, {1U, 0.3}, {2U, 17.0}, {3U, -4.5}}) given.condition(axis, value);
    const auto conditional = given.log_density(std::vector<std::vector<double>>{{0, 1, 2}}, 4);
    const auto along = joint.log_density(
        std::vector<std::vector<double>>{{1e-4, 1e-4, 1e-4}, {0.3, 0.3, 0.3}, {17, 17, 17}, {-4.5, -4.5, -4.5}, {0, 1, 2}});
    for (std::size_t i = 0; i < 3; ++i) CHECK(conditional[i] == Approx(along[i]));
}

TEST_CASE("draws follow the density, whole and inside a part") {
    const std::vector<std::vector<double>> observed{{0.1, 0.1, 0.4, lacking}};
    const TpeParzenEstimator estimator{{axes[1]}, observed, 4, 1};
    const std::vector<std::vector<double>> grid{{0, 0.1, 0.2, 0.30000000000000004, 0.4, 0.5}};
    const auto densities = estimator.log_density(grid);
    hpo::Rng rng{11};
    const auto frequencies = [&](const std::vector<double>& drawn) {
        std::vector<double> counts(6, 0);
        for (const double value : drawn)
            counts[static_cast<std::size_t>(std::lround(value * 10))] += 1.0 / static_cast<double>(drawn.size());
        return counts;
    };
    const auto everywhere = frequencies(estimator.draw(whole({axes[1]}), 40'000, rng)[0]);
    for (std::size_t i = 0; i < 6; ++i) CHECK(everywhere[i] == Approx(std::exp(densities[i]) / 5).margin(0.01));

    const auto inside = frequencies(estimator.draw(0, {ModelAxis{hpo::FloatDistribution{0.2, 0.4, false, 0.1}}, {}}, 40'000, rng));
    const double mass = std::exp(densities[2]) + std::exp(densities[3]) + std::exp(densities[4]);
    for (std::size_t i = 0; i < 6; ++i) CHECK(inside[i] == Approx(i >= 2 && i <= 4 ? std::exp(densities[i]) / mass : 0).margin(0.01));
}

TEST_CASE("draws of choices keep to those that are allowed") {
    const TpeParzenEstimator estimator{{axes[4]}, {{0, 0, 0, 1}}, 4, 1};
    hpo::Rng rng{12};
    const auto drawn = estimator.draw(0, {axes[4], {false, true, true}}, 20'000, rng);
    const auto densities = estimator.log_density(std::vector<std::vector<double>>{{1, 2}});
    const double ones = static_cast<double>(std::count(drawn.begin(), drawn.end(), 1.0)) / 20'000;
    CHECK(std::count(drawn.begin(), drawn.end(), 0.0) == 0);
    CHECK(ones == Approx(1 / (1 + std::exp(densities[1] - densities[0]))).margin(0.015));
}

TEST_CASE("all but the latest 25 observations fade") {
    // The density at a far point, where only the observation there counts: the oldest of 30 weighs 1/30, the sixth weighs 1.
    const std::vector<ModelAxis> x{ModelAxis{hpo::CategoricalDistribution{std::vector<hpo::Value>(2)}}};
    std::vector<double> values(30, 0);
    const auto weight_at = [&](std::size_t position) {
        auto moved = values;
        moved[position] = 1;
        const auto with = TpeParzenEstimator{x, {moved}, 30, 1e-9}.log_density(std::vector<std::vector<double>>{{1}});
        return std::exp(with[0]);
    };
    CHECK(weight_at(0) == Approx(1.0 / 30).margin(1e-6));
    CHECK(weight_at(1) == Approx(0.275).margin(1e-6));
    CHECK(weight_at(4) == Approx(1).margin(1e-6));
    CHECK(weight_at(29) == Approx(1).margin(1e-6));
}
