// SPDX-License-Identifier: MIT
#include "hpo/core/distribution.hpp"

#include <cstdint>
#include <limits>

#include "support/catch.hpp"

using namespace hpo;

TEST_CASE("a high that is a grid point but for rounding stays as it was written") {
    CHECK(std::get<FloatDistribution>(checked("p", FloatDistribution{0, 0.7, false, 0.1})).high == 0.7);
    CHECK(std::get<FloatDistribution>(checked("p", FloatDistribution{0, 0.5, false, 0.1})).high == 0.5);
    CHECK(std::get<FloatDistribution>(checked("p", FloatDistribution{0, 1.05, false, 0.5})).high == 1.0);
    CHECK(std::get<IntDistribution>(checked("p", IntDistribution{128, 520, false, 32})).high == 512);
}

TEST_CASE("impossible distributions are refused with what would be right") {
    CHECK_THROWS_WITH(checked("parameter 'lr'", FloatDistribution{1, 0}), "parameter 'lr': got low 1.0, high 0.0; expected low <= high");
    CHECK_THROWS_WITH(checked("p", FloatDistribution{0, 1, true}), Catch::Contains("expected low > 0"));
    CHECK_THROWS_WITH(checked("p", FloatDistribution{0.1, 1, true, 0.1}), Catch::Contains("both log and step"));
    CHECK_THROWS_WITH(checked("p", FloatDistribution{0, HUGE_VAL}), Catch::Contains("finite bounds"));
    CHECK_THROWS_WITH(checked("p", FloatDistribution{-1e308, 1e308}), Catch::Contains("high - low"));
    CHECK_THROWS_WITH((checked("p", FloatDistribution{0, 1, false, 5e-324})), Catch::Contains("a larger step"));
    CHECK_THROWS_WITH(checked("p", IntDistribution{0, 8, true}), Catch::Contains("expected low >= 1"));
    CHECK_THROWS_WITH(checked("p", IntDistribution{0, 8, false, 0}), Catch::Contains("expected step >= 1"));
    CHECK_THROWS_WITH(checked("p", CategoricalDistribution{}), Catch::Contains("expected at least one"));
}

TEST_CASE("values travel between their two representations") {
    const Distribution choices = CategoricalDistribution{{std::string{"adam"}, std::int64_t{8}, 2.5, true, hpo::Value{}}};
    for (int i = 0; i < 5; ++i) CHECK(to_internal(choices, to_value(choices, i)) == i);
    CHECK(to_internal(choices, Value{8.0}) == 1.0);  // numbers compare by value
    CHECK_FALSE(to_internal(choices, Value{std::string{"8"}}));
    const Distribution grid = FloatDistribution{0, 0.5, false, 0.1};
    CHECK(contains(grid, 0.1 + 0.2));
    CHECK_FALSE(contains(grid, 0.25));
    CHECK_FALSE(contains(grid, 0.6));
    CHECK_FALSE(to_internal(Distribution{IntDistribution{1, 9, false, 2}}, Value{std::int64_t{4}}));
}

TEST_CASE("ranges of numbers may change within a study, choices and scales may not") {
    CHECK(compatible(FloatDistribution{0, 1}, FloatDistribution{0, 2}));
    CHECK_FALSE(compatible(FloatDistribution{1, 2}, FloatDistribution{1, 2, true}));
    CHECK_FALSE(compatible(FloatDistribution{0, 1}, IntDistribution{0, 1}));
    CHECK_FALSE(compatible(CategoricalDistribution{{true}}, CategoricalDistribution{{true, false}}));
}

TEST_CASE("a number outside of a range is taken where Optuna takes one") {
    const Distribution real{FloatDistribution{0, 1}};
    const Distribution whole{IntDistribution{1, 9, false, 2}};
    CHECK(to_internal_unbounded(real, Value{-3.5}) == -3.5);
    CHECK(to_internal_unbounded(real, Value{std::int64_t{7}}) == 7.0);
    CHECK(to_internal_unbounded(whole, Value{std::int64_t{4}}) == 4.0);
    CHECK(to_internal_unbounded(whole, Value{-12.75}) == -12.0);
    CHECK(to_internal_unbounded(whole, Value{9007199254740992.0}) == 9007199254740992.0);
    CHECK_FALSE(to_internal_unbounded(whole, Value{1e300}));
    CHECK_FALSE(to_internal_unbounded(real, Value{std::numeric_limits<double>::infinity()}));
    CHECK(to_internal_unbounded(real, Value{"1e3"}) == 1000.0);
    CHECK_FALSE(to_internal_unbounded(real, Value{"1e3 or so"}));
    CHECK(to_internal_unbounded(whole, Value{true}) == 1.0);
    CHECK(to_internal_unbounded(Distribution{FloatDistribution{0.1, 1, true}}, Value{7.5}) == 7.5);
    CHECK_FALSE(to_internal_unbounded(Distribution{FloatDistribution{0.1, 1, true}}, Value{0.0}));
    CHECK_FALSE(to_internal_unbounded(Distribution{IntDistribution{1, 9, true}}, Value{std::int64_t{-2}}));
    CHECK_FALSE(to_internal_unbounded(Distribution{IntDistribution{1, 9, true}}, Value{0.5}));  // it would be 0
    CHECK_FALSE(to_internal_unbounded(Distribution{CategoricalDistribution{{Value{"a"}}}}, Value{0.0}));
}
