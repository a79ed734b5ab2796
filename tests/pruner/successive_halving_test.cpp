// SPDX-License-Identifier: MIT
#include "hpo/pruner/successive_halving.hpp"

#include <array>
#include <cmath>
#include <vector>

#include "support/catch.hpp"

using hpo::Direction;
using hpo::Trial;
using hpo::TrialState;
using hpo::pruner::SuccessiveHalving;

namespace {

double halving_value(int trial, int step) { return trial == 9 && step == 5 ? std::nan("") : (trial * 7 + step * 3) % 11 - step * 0.25; }

/// How many steps each of 14 trials of 16 steps runs, one after the other.
std::vector<int> steps_run(const SuccessiveHalving::Config& config, Direction direction) {
    SuccessiveHalving pruner{config};
    std::vector<Trial> trials;
    std::vector<int> run;
    for (int number = 0; number < 14; ++number) {
        Trial& trial = trials.emplace_back();
        trial.number = number;
        trial.state = TrialState::running;
        int step = 0;
        for (; step < 16; ++step) {
            trial.intermediate[step] = halving_value(number, step);
            if (pruner.judge({trial, step, direction, hpo::History{"halving", {&direction, 1}, trials, {}}}).prunes()) break;
        }
        trial.state = step < 16 ? TrialState::pruned : TrialState::complete;
        run.push_back(step);
    }
    return run;
}

}  // namespace

TEST_CASE("successive halving decides as Optuna's SuccessiveHalvingPruner") {
    // Recorded once with optuna 5.0.0.
    struct Case {
        SuccessiveHalving::Config config;
        std::vector<int> minimize, maximize;
    };
    const std::vector<Case> cases{
        {{.min_resource = 1, .reduction_factor = 2},
         {16, 1, 1, 16, 1, 2, 4, 1, 2, 4, 1, 2, 1, 1},
         {16, 2, 1, 1, 2, 1, 1, 2, 1, 1, 16, 1, 16, 4}},
        {{.min_resource = 1, .reduction_factor = 4},
         {16, 1, 1, 16, 1, 1, 4, 1, 1, 4, 1, 1, 1, 1},
         {16, 16, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 16, 1}},
        {{.min_resource = 2, .reduction_factor = 3, .min_early_stopping_rate = 1},
         {16, 16, 6, 6, 16, 6, 6, 16, 6, 6, 16, 6, 16, 6},
         {16, 6, 16, 6, 6, 16, 6, 6, 16, 6, 6, 16, 6, 16}},
        {{.min_resource = 1, .reduction_factor = 2, .bootstrap_count = 3},
         {1, 1, 1, 2, 1, 2, 2, 1, 2, 4, 1, 2, 1, 1},
         {1, 1, 1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 4, 4}},
    };
    for (const Case& expected : cases) {
        CAPTURE(expected.config.reduction_factor, expected.config.bootstrap_count);
        CHECK(steps_run(expected.config, Direction::minimize) == expected.minimize);
        CHECK(steps_run(expected.config, Direction::maximize) == expected.maximize);
    }
}

TEST_CASE("trials that still run count at the rungs that they have reached") {
    const Direction direction = Direction::minimize;
    std::vector<Trial> trials(3);
    for (std::size_t i = 0; i < trials.size(); ++i) {
        trials[i].number = static_cast<std::int64_t>(i);
        trials[i].state = TrialState::running;
        trials[i].intermediate[1] = static_cast<double>(i);
    }
    const hpo::History history{"running", {&direction, 1}, trials, {}};
    SuccessiveHalving pruner{{.min_resource = 1, .reduction_factor = 2}};
    CHECK_FALSE(pruner.judge({trials[0], 1, direction, history}).prunes());
    CHECK(pruner.judge({trials[2], 1, direction, history}).reason == "value 2 at step 1 is not among the best 1 of 3 trials");
}

TEST_CASE("without min_resource, the first decision is at a hundredth of the longest complete trial") {
    for (const Direction direction : {Direction::minimize, Direction::maximize})
        CHECK(steps_run({.reduction_factor = 3}, direction) == steps_run({.min_resource = 1, .reduction_factor = 3}, direction));
}

TEST_CASE("without min_resource, a longer complete trial moves the rungs of all") {
    const Direction direction = Direction::minimize;
    std::vector<Trial> trials(2);
    for (int step = 0; step <= 400; ++step) trials[0].intermediate[step] = trials[1].intermediate[step * 2] = 1;
    for (std::size_t i = 0; i < 2; ++i) trials[i].number = static_cast<std::int64_t>(i);
    trials[0].state = TrialState::complete;
    SuccessiveHalving pruner;
    Trial worse;
    worse.number = 2;
    for (int step = 0; step <= 4; ++step) worse.intermediate[step] = 2;
    const auto prunes = [&] { return pruner.judge({worse, 4, direction, hpo::History{"longer", {&direction, 1}, trials, {}}}).prunes(); };
    CHECK(prunes());  // the first decision is at step 4
    trials[1].state = TrialState::complete;
    CHECK_FALSE(prunes());  // it is at step 8
}

TEST_CASE("options of successive halving that cannot be are refused") {
    CHECK_THROWS_WITH((SuccessiveHalving{{.min_resource = 0}}), "min_resource: got 0; expected 1 or more");
    CHECK_THROWS_WITH((SuccessiveHalving{{.reduction_factor = 1}}), "reduction_factor: got 1; expected 2 or more");
    CHECK_THROWS_WITH((SuccessiveHalving{{.bootstrap_count = 1}}), Catch::Contains("expected min_resource beside it"));
}
