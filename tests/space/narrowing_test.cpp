// SPDX-License-Identifier: MIT
#include <cmath>

#include "hpo/space/narrowing.hpp"

#include "support/catch.hpp"

using hpo::Distribution;
using hpo::FloatDistribution;
using hpo::IntDistribution;
using hpo::narrowed;
using hpo::Narrowing;

TEST_CASE("a narrowed range keeps to the whole one's grid") {
    CHECK(narrowed(IntDistribution{8, 64, false, 8}, {.low = 9, .high = 30}) == Distribution{IntDistribution{16, 24, false, 8}});
    CHECK(narrowed(IntDistribution{1, 10, true}, {.low = 3}) == Distribution{IntDistribution{3, 10, true}});
    const auto part = std::get<FloatDistribution>(*narrowed(FloatDistribution{0.1, 0.9, false, 0.2}, {.low = 0.2, .high = 0.8}));
    CHECK(part.low == Approx(0.3));
    CHECK(part.high == Approx(0.7));
    CHECK(part.step == 0.2);
    CHECK(narrowed(FloatDistribution{1e-5, 1, true}, {.low = 0, .high = 0.1}) == Distribution{FloatDistribution{1e-5, 0.1, true}});
}

TEST_CASE("a bound on a grid point keeps that point, whatever its last bit") {
    const Distribution tenths = FloatDistribution{0.1, 0.9, false, 0.1};
    for (int k = 1; k <= 9; ++k) {
        const double bound = k / 10.0;
        const Narrowing within{.low = bound, .high = bound};
        const auto part = narrowed(tenths, within);
        CAPTURE(bound);
        REQUIRE(part);
        CHECK(hpo::is_single(*part));
        CHECK(within.admits(std::get<FloatDistribution>(*part).low));
        CHECK(hpo::contains(tenths, std::get<FloatDistribution>(*part).low));
    }
}

TEST_CASE("a narrowing that leaves nothing is told") {
    CHECK_FALSE(narrowed(IntDistribution{8, 64, false, 8}, {.low = 9, .high = 15}));
    CHECK_FALSE(narrowed(IntDistribution{8, 64}, {.low = 65}));
    CHECK_FALSE(narrowed(IntDistribution{8, 64}, {.high = 7}));
    CHECK_FALSE(narrowed(FloatDistribution{0, 1}, {.low = 0.6, .high = 0.4}));
    CHECK_FALSE(narrowed(FloatDistribution{0, 1, false, 0.5}, {.low = 0.1, .high = 0.4}));
    const Distribution choices = hpo::CategoricalDistribution{{hpo::Value{"a"}, hpo::Value{"b"}}};
    CHECK_FALSE(narrowed(choices, {.allowed = {false, false}}));
    CHECK(narrowed(choices, {.allowed = {false, true}}) == choices);
}

TEST_CASE("a narrowing admits its bounds and nothing beyond") {
    const Narrowing within{.low = -1, .high = 2};
    CHECK(within.admits(-1));
    CHECK(within.admits(2));
    CHECK_FALSE(within.admits(2.0001));
    CHECK_FALSE(within.admits(-1.0001));
    CHECK_FALSE(within.admits(std::nan("")));
    CHECK(Narrowing{}.admits(1e308));
    CHECK_FALSE(Narrowing{.allowed = {true, false}}.admits(1));
    CHECK_FALSE(Narrowing{.allowed = {true, false}}.admits(2));
}
