// SPDX-License-Identifier: MIT
#include "hpo/sampler/random.hpp"

#include <algorithm>
#include <cmath>

#include "hpo/sampler/suggest.hpp"
#include "support/catch.hpp"

namespace {

std::vector<double> draw(const hpo::Distribution& distribution, const hpo::Narrowing& within = {}, int count = 20'000) {
    hpo::Rng rng{1};
    std::vector<double> drawn;
    for (int i = 0; i < count; ++i) drawn.push_back(hpo::sampler::draw_uniform(distribution, within, rng));
    return drawn;
}

double share(const std::vector<double>& values, double value) {
    return static_cast<double>(std::count(values.begin(), values.end(), value)) / static_cast<double>(values.size());
}

}  // namespace

TEST_CASE("every grid point of a stepped parameter is equally likely, its ends included") {
    const auto stepped = draw(hpo::FloatDistribution{0.0, 0.5, false, 0.1});
    for (int k = 0; k <= 5; ++k) CHECK(share(stepped, std::min(0.5, k * 0.1)) == Approx(1.0 / 6).margin(0.015));
    const auto whole = draw(hpo::IntDistribution{8, 64, false, 8});
    for (int k = 1; k <= 8; ++k) CHECK(share(whole, k * 8) == Approx(1.0 / 8).margin(0.015));
}

TEST_CASE("log parameters are uniform in the logarithm") {
    auto values = draw(hpo::FloatDistribution{1e-5, 1e-1, true, {}});
    std::nth_element(values.begin(), values.begin() + 10'000, values.end());
    CHECK(std::log10(values[10'000]) == Approx(-3).margin(0.05));
    const auto whole = draw(hpo::IntDistribution{1, 8, true, 1});
    CHECK(share(whole, 1) == Approx(std::log(1.5 / 0.5) / std::log(8.5 / 0.5)).margin(0.015));
}

TEST_CASE("a narrowed draw keeps to the whole distribution's grid") {
    const hpo::Distribution stepped = hpo::FloatDistribution{0.1, 0.9, false, 0.1};
    for (const double value : draw(stepped, {.low = 0.25, .high = 0.3}, 100)) {
        CHECK(hpo::contains(stepped, value));
        CHECK(hpo::Narrowing{.low = 0.25, .high = 0.3}.admits(value));
        CHECK(value == Approx(0.3));
    }
    const auto allowed = draw(hpo::CategoricalDistribution{{"a", "b", "c"}}, {.allowed = {true, false, true}});
    CHECK(share(allowed, 0) == Approx(0.5).margin(0.015));
    CHECK(share(allowed, 1) == 0);
    const auto whole = draw(hpo::IntDistribution{8, 64, false, 8}, {.low = 9, .high = 25});
    CHECK(share(whole, 16) == Approx(0.5).margin(0.015));
    CHECK(share(whole, 24) == Approx(0.5).margin(0.015));
}
