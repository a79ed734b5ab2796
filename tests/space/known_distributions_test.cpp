// SPDX-License-Identifier: MIT
#include "hpo/space/known_distributions.hpp"

#include "support/catch.hpp"

using hpo::CategoricalDistribution;
using hpo::FloatDistribution;
using hpo::KnownDistributions;
using hpo::ParamSet;

TEST_CASE("equal distributions of trials become one object, and others stay as they are") {
    const auto drawn = [](double high, double value) {
        ParamSet params;
        params.set("x", FloatDistribution{0, high, false, {}}, value);
        params.set("kind", CategoricalDistribution{{"a", "b"}}, 1);
        return params;
    };
    KnownDistributions known;
    ParamSet first = drawn(1, 0.25), second = drawn(1, 0.5), wider = drawn(2, 1.5);
    known.share(first);
    known.admit(first);
    known.share(second);
    CHECK(second == drawn(1, 0.5));
    CHECK(second.find("x")->distribution == first.find("x")->distribution);
    CHECK(second.find("kind")->distribution == first.find("kind")->distribution);
    known.share(wider);
    CHECK(wider == drawn(2, 1.5));
    CHECK(wider.find("x")->distribution != first.find("x")->distribution);
    CHECK(wider.find("kind")->distribution == first.find("kind")->distribution);
}
