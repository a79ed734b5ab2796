// SPDX-License-Identifier: MIT
#include "hpo/pruner/threshold.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "pruner/decisions.hpp"
#include "support/catch.hpp"

using hpo::pruner::Threshold;

TEST_CASE("threshold decides as Optuna's ThresholdPruner") {
    // Recorded once with optuna 5.0.0.
    const auto sequences = hpo::tests::recorded_reports();
    struct Case {
        Threshold::Config config;
        std::vector<std::string> decisions;
    };
    const std::vector<Case> cases{
        {{.upper = 4.5}, {"1000000000", "110011", "0111001", "0000", "111111", "10110"}},
        {{.lower = 3}, {"0000001111", "110000", "0111001", "1111", "000000", "00000"}},
        {{.lower = 2.1, .upper = 4.9, .warmup_steps = 2, .interval_steps = 2},
         {"0000001000", "000010", "0010001", "0010", "000000", "00100"}},
    };
    for (const Case& expected : cases) {
        for (std::size_t i = 0; i < sequences.size(); ++i)
            CHECK(hpo::tests::decisions_of(Threshold{expected.config}, sequences[i]) == expected.decisions[i]);
    }
}

TEST_CASE("without a bound, threshold prunes NaN alone") {
    CHECK(hpo::tests::decisions_of(Threshold{}, {-HUGE_VAL, 0, std::nan(""), HUGE_VAL}) == "0010");
}

TEST_CASE("bounds of threshold that leave nothing are refused") {
    CHECK_THROWS_WITH((Threshold{{.lower = 2, .upper = 1}}), "lower: got 2; expected at most the upper bound, 1");
    CHECK_THROWS_WITH((Threshold{{.interval_steps = 0}}), "interval_steps: got 0; expected 1 or more");
}
