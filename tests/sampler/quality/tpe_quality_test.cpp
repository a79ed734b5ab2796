// SPDX-License-Identifier: MIT
#include "hpo/sampler/tpe.hpp"
#include "hpo/testing/sampler_problems.hpp"
#include "support/catch.hpp"

TEST_CASE("tpe finds in 100 trials what Optuna's finds") {
    // The upper quartile of Optuna 5's default sampler over 20 seeds; its medians: 0.251, 89.9, 26.8, 6.95, 0.417, 0.006.
    struct Case {
        hpo::testing::Problem problem;
        double upper_quartile;
    };
    for (const Case& expected :
         {Case{hpo::testing::sphere(), 0.369}, Case{hpo::testing::rosenbrock(), 187}, Case{hpo::testing::rastrigin(), 32.0},
          Case{hpo::testing::ackley(), 7.52}, Case{hpo::testing::branin(), 0.428}, Case{hpo::testing::mixed(), 0.106}}) {
        const auto best = hpo::testing::best_values<hpo::sampler::Tpe>(expected.problem, 100, 20);
        CAPTURE(expected.problem.name);
        CHECK((best[9] + best[10]) / 2 <= expected.upper_quartile);
    }
}
