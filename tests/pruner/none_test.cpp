// SPDX-License-Identifier: MIT
#include "hpo/pruner/none.hpp"

#include <cmath>

#include "support/catch.hpp"

TEST_CASE("none keeps even a trial that reports NaN") {
    hpo::Trial trial;
    trial.intermediate[0] = std::nan("");
    CHECK_FALSE(hpo::pruner::None{}.judge({trial, 0, hpo::Direction::minimize, hpo::History{}}).prunes());
}
