// SPDX-License-Identifier: MIT
#include "hpo/tuner/verdicts.hpp"

#include <limits>
#include <vector>

#include "support/catch.hpp"

using namespace hpo;

namespace {

std::vector<double> pruned_values(std::vector<double> reports) {
    Trial trial;
    for (std::size_t step = 0; step < reports.size(); ++step) trial.intermediate[static_cast<std::int64_t>(step)] = reports[step];
    tuner::settle_pruned(trial, "");
    CHECK(trial.state == TrialState::pruned);
    return trial.values;
}

}  // namespace

TEST_CASE("a pruned trial has the value of its last report, as with Optuna 5: also an infinite one, and none if it is NaN") {
    constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(pruned_values({1, 2}) == std::vector<double>{2});
    CHECK(pruned_values({1, infinity}) == std::vector<double>{infinity});
    CHECK(pruned_values({1, -infinity}) == std::vector<double>{-infinity});
    CHECK(pruned_values({1, nan}).empty());
    CHECK(pruned_values({}).empty());
}
