// SPDX-License-Identifier: MIT
#include "hpo/pruner/median.hpp"

#include "support/catch.hpp"

using hpo::pruner::Median;

namespace {

bool pruned(Median median, const std::vector<hpo::Trial>& others, double value, hpo::Direction direction) {
    hpo::Trial trial;
    trial.number = std::ssize(others);
    trial.intermediate[0] = value;
    return median.judge({trial, 0, direction, hpo::History{"", {}, others, {}}}).prunes();
}

std::vector<hpo::Trial> complete(std::initializer_list<double> values) {
    std::vector<hpo::Trial> trials;
    for (const double value : values) {
        trials.emplace_back().state = hpo::TrialState::complete;
        trials.back().number = std::ssize(trials) - 1;
        trials.back().intermediate[0] = value;
    }
    return trials;
}

}  // namespace

TEST_CASE("median prunes what is strictly worse than the median, either way") {
    const auto others = complete({1, 2, 4, 8, 16, 32});  // median 6
    CHECK_FALSE(pruned(Median{}, others, 6, hpo::Direction::minimize));
    CHECK(pruned(Median{}, others, 6.01, hpo::Direction::minimize));
    CHECK_FALSE(pruned(Median{}, others, 6, hpo::Direction::maximize));
    CHECK(pruned(Median{}, others, 5.99, hpo::Direction::maximize));
}

TEST_CASE("median passes its options on") {
    CHECK_FALSE(pruned(Median{{.startup_trials = 3}}, complete({1, 1}), 9, hpo::Direction::minimize));
    CHECK(pruned(Median{{.startup_trials = 2}}, complete({1, 1}), 9, hpo::Direction::minimize));
    CHECK_FALSE(pruned(Median{{.warmup_steps = 1}}, complete({1, 1, 1, 1, 1}), 9, hpo::Direction::minimize));
    CHECK_FALSE(pruned(Median{{.min_trials = 6}}, complete({1, 1, 1, 1, 1}), 9, hpo::Direction::minimize));
    CHECK_THROWS_WITH((Median{{.interval_steps = 0}}), "interval_steps: got 0; expected 1 or more");
}
