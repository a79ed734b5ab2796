// SPDX-License-Identifier: MIT
#include "hpo/pruner/percentile.hpp"

#include "support/catch.hpp"

using hpo::Direction;
using hpo::Trial;
using hpo::TrialState;
using hpo::pruner::Percentile;
using hpo::pruner::percentile_of;
using Reports = hpo::StepValues;

namespace {

const double nan_value = std::nan("");
const double infinity = HUGE_VAL;

Trial complete(Reports reports, TrialState state = TrialState::complete) {
    Trial trial;
    trial.state = state;
    trial.number = state == TrialState::running ? 1000 : 0;
    trial.intermediate = std::move(reports);
    return trial;
}

/// What the pruner answers to a running trial with `reports`, whose last step is the latest.
bool pruned(const Percentile::Config& config, const std::vector<Trial>& others, Reports reports,
            Direction direction = Direction::minimize) {
    const Trial trial = complete(std::move(reports), TrialState::running);
    const hpo::History history{"", {&direction, 1}, others, {}};
    const std::int64_t step = trial.intermediate.empty() ? 0 : trial.intermediate.rbegin()->first;
    return Percentile{config}.judge({trial, step, direction, history}).prunes();
}

std::vector<Trial> at_step_0(std::initializer_list<double> values) {
    std::vector<Trial> trials;
    for (const double value : values) trials.push_back(complete({{0, value}}));
    return trials;
}

}  // namespace

TEST_CASE("percentiles interpolate linearly and leave NaN out") {
    // numpy.nanpercentile([1, 2, nan, 4, 8], [0, 25, 50, 75, 90, 100]) of numpy 1.24
    hpo::pruner::StepReports reports;
    for (const double value : {8., 1., nan_value, 4.}) reports.add(value);
    CHECK(reports.ascending() == std::vector<double>{1, 4, 8});
    reports.add(2);
    CHECK(reports.count() == 5);
    const std::vector<double> values = reports.ascending();
    CHECK(percentile_of(values, 0) == 1);
    CHECK(*percentile_of(values, 25) == Approx(1.75));
    CHECK(*percentile_of(values, 50) == Approx(3));
    CHECK(*percentile_of(values, 75) == Approx(5));
    CHECK(*percentile_of(values, 90) == Approx(6.8));
    CHECK(percentile_of(values, 100) == 8);
    CHECK_FALSE(percentile_of({}, 50));
    CHECK(percentile_of({1, infinity, infinity}, 75) == infinity);
}

TEST_CASE("a trial is held against the percentile of complete trials at its step") {
    const auto others = at_step_0({1, 2, 3, 4, 5});  // 25 % is 2
    CHECK_FALSE(pruned({}, others, {{0, 2.0}}));
    CHECK(pruned({}, others, {{0, 2.1}}));
    CHECK_FALSE(pruned({.percentile = 100}, others, {{0, 5}}));
    CHECK(pruned({.percentile = 0}, others, {{0, 1.1}}));
    // maximizing: the best quarter begins at 4
    CHECK_FALSE(pruned({}, others, {{0, 4.0}}, Direction::maximize));
    CHECK(pruned({}, others, {{0, 3.9}}, Direction::maximize));
}

TEST_CASE("the trial's best value so far counts, not its latest") {
    std::vector<Trial> others;
    for (const double value : {1., 2., 3., 4., 5.}) others.push_back(complete({{0, 9.}, {1, value}}));
    CHECK_FALSE(pruned({}, others, {{0, 1.5}, {1, 7}}));
    CHECK(pruned({}, others, {{0, 6.5}, {1, 7}}));
    CHECK_FALSE(pruned({}, others, {{0, nan_value}, {1, 1.5}}));
}

TEST_CASE("nothing is pruned before enough trials are complete") {
    CHECK_FALSE(pruned({}, at_step_0({1, 1, 1, 1}), {{0, 9}}));
    CHECK(pruned({}, at_step_0({1, 1, 1, 1, 1}), {{0, 9}}));
    CHECK_FALSE(pruned({.startup_trials = 0}, {}, {{0, nan_value}}));
    auto others = at_step_0({1, 1, 1, 1});
    others.push_back(complete({{0, 1}}, TrialState::pruned));
    others.push_back(complete({{0, 1}}, TrialState::fail));
    others.push_back(complete({{0, 1}}, TrialState::running));
    CHECK_FALSE(pruned({}, others, {{0, 9}}));
}

TEST_CASE("a step that too few complete trials have reported is not judged") {
    auto others = at_step_0({1, 1, 1, 1, 1});
    CHECK_FALSE(pruned({}, others, {{1, 9}}));
    others[0].intermediate[1] = 1;
    CHECK(pruned({}, others, {{1, 9}}));
    CHECK_FALSE(pruned({.min_trials = 2}, others, {{1, 9}}));
    others[1].intermediate[1] = nan_value;  // NaN counts towards min_trials, not towards the percentile
    CHECK(pruned({.min_trials = 2}, others, {{1, 9}}));
    others[0].intermediate[1] = nan_value;
    CHECK_FALSE(pruned({}, others, {{1, 9}}));
}

TEST_CASE("a trial that reported nothing but NaN is pruned, one that reported nothing is not") {
    CHECK(pruned({}, at_step_0({1, 2, 3, 4, 5}), {{0, nan_value}}));
    CHECK(pruned({}, at_step_0({nan_value, nan_value, 1, 1, 1}), {{0, nan_value}}));
    CHECK_FALSE(pruned({}, at_step_0({1, 2, 3, 4, 5}), {}));
}

TEST_CASE("infinite values are ordinary bad or good ones") {
    CHECK(pruned({}, at_step_0({1, 2, 3, 4, 5}), {{0, infinity}}));
    CHECK_FALSE(pruned({}, at_step_0({1, 2, 3, 4, 5}), {{0, -infinity}}));
    CHECK_FALSE(pruned({}, at_step_0({infinity, infinity, infinity, infinity, infinity}), {{0, infinity}}));
}

TEST_CASE("decisions begin at the warm-up step and come once an interval") {
    std::vector<Trial> others;
    for (int i = 0; i < 5; ++i) {
        Reports reports;
        for (int step = 0; step < 10; ++step) reports[step] = 0;
        others.push_back(complete(reports));
    }
    const Percentile::Config config{.warmup_steps = 2, .interval_steps = 3};
    Reports reports;
    std::vector<int> decisions;
    for (int step = 0; step < 10; ++step) {
        reports[step] = 1;
        if (pruned(config, others, reports)) decisions.push_back(step);
    }
    CHECK(decisions == std::vector<int>{2, 5, 8});
    // A skipped step moves the decision to the first report after it.
    CHECK(pruned(config, others, {{2, 1}, {4, 1}, {6, 1}}));
    CHECK_FALSE(pruned(config, others, {{2, 1}, {5, 1}, {6, 1}}));
}

TEST_CASE("decisions are those of Optuna's PercentilePruner") {
    // Recorded once with optuna 5.0.0: trial t of 7 complete ones reports (7t + 3s) mod 11 at steps s < 10 - t, NaN where
    // t + s is a multiple of 5; the running one reports 4 + ((5s + 4) mod 9) / 4 and is judged at each step.
    struct Case {
        Direction direction;
        Percentile::Config config;
        std::string decisions;
    };
    const std::vector<Case> cases{
        {Direction::minimize, {.percentile = 25}, "0110110010"},
        {Direction::minimize, {.percentile = 50}, "0000100000"},
        {Direction::minimize, {.percentile = 75, .startup_trials = 7}, "0000000000"},
        {Direction::minimize, {.percentile = 50, .startup_trials = 8}, "0000000000"},
        {Direction::minimize, {.percentile = 10, .warmup_steps = 3, .interval_steps = 2}, "0001010100"},
        {Direction::minimize, {.percentile = 60, .min_trials = 3}, "0000100000"},
        {Direction::minimize, {.percentile = 35, .interval_steps = 4}, "0000100000"},
        {Direction::maximize, {.percentile = 25}, "1111011110"},
        {Direction::maximize, {.percentile = 50}, "1001001100"},
        {Direction::maximize, {.percentile = 75, .startup_trials = 7}, "1000000000"},
        {Direction::maximize, {.percentile = 50, .startup_trials = 8}, "0000000000"},
        {Direction::maximize, {.percentile = 10, .warmup_steps = 3, .interval_steps = 2}, "0001010100"},
        {Direction::maximize, {.percentile = 60, .min_trials = 3}, "1000001000"},
        {Direction::maximize, {.percentile = 35, .interval_steps = 4}, "1000000010"},
    };
    std::vector<Trial> others;
    for (int t = 0; t < 7; ++t) {
        Reports reports;
        for (int s = 0; s < 10 - t; ++s) reports[s] = (t + s) % 5 == 0 ? nan_value : (t * 7 + s * 3) % 11;
        others.push_back(complete(reports));
    }
    for (const Case& expected : cases) {
        Reports reports;
        std::string decisions;
        for (int s = 0; s < 10; ++s) {
            reports[s] = 4 + (s * 5 + 4) % 9 * 0.25;
            decisions += pruned(expected.config, others, reports, expected.direction) ? '1' : '0';
        }
        CAPTURE(hpo::to_text(expected.direction), expected.config.percentile);
        CHECK(decisions == expected.decisions);
    }
}

TEST_CASE("the reason of a pruned trial has its figures") {
    const auto others = at_step_0({1, 2, 3, 4, 5});
    const Trial trial = complete({{0, 9}}, TrialState::running);
    const hpo::History history{"", {}, others, {}};
    CHECK(Percentile{}.judge({trial, 0, Direction::minimize, history}).reason ==
          "best value 9 by step 0 is worse than 2, percentile 25 of 5 complete trials");
}

TEST_CASE("options out of range are refused") {
    CHECK_THROWS_WITH((Percentile{{.percentile = 101}}), "percentile: got 101; expected 0 to 100");
    CHECK_THROWS_WITH((Percentile{{.percentile = nan_value}}), Catch::Contains("expected 0 to 100"));
    CHECK_THROWS_WITH((Percentile{{.interval_steps = 0}}), "interval_steps: got 0; expected 1 or more");
    CHECK_THROWS_WITH((Percentile{{.min_trials = 0}}), "min_trials: got 0; expected 1 or more");
    CHECK_THROWS_WITH((Percentile{{.startup_trials = -1}}), "startup_trials: got -1; expected 0 or more");
}
