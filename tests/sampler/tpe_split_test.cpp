// SPDX-License-Identifier: MIT
#include "hpo/sampler/tpe_split.hpp"

#include <array>

#include "support/catch.hpp"

using hpo::Direction;
using hpo::Trial;
using hpo::TrialState;

namespace {

/// Adds a trial whose parameter "id" is its number.
struct Trials {
    std::vector<Trial> all;
    Trial& add(TrialState state, std::optional<double> value = std::nullopt) {
        Trial& trial = all.emplace_back();
        trial.number = static_cast<std::int64_t>(all.size()) - 1;
        trial.state = state;
        if (value) trial.values = {*value};
        trial.params.set("id", hpo::IntDistribution{0, 1000}, static_cast<double>(trial.number));
        return trial;
    }
};

std::vector<int> ids(const std::vector<const hpo::ParamSet*>& observations) {
    std::vector<int> found;
    for (const hpo::ParamSet* params : observations) found.push_back(static_cast<int>(*params->number("id")));
    return found;
}

hpo::sampler::TpeSplit split(const Trials& trials, double gamma, Direction direction = Direction::minimize,
                             const std::vector<hpo::Rejection>& rejections = {}, std::int64_t number = -1) {
    return hpo::sampler::tpe_split({"", {&direction, 1}, trials.all, rejections}, number, gamma);
}

using Ids = std::vector<int>;

}  // namespace

TEST_CASE("the best tenth of the trials, rounded up and at most 25, is below") {
    Trials trials;
    for (int i = 0; i < 11; ++i) trials.add(TrialState::complete, 100 - i);
    CHECK(ids(split(trials, 0.1).below) == Ids{9, 10});
    CHECK(ids(split(trials, 0.1, Direction::maximize).below) == Ids{0, 1});
    CHECK(split(trials, 0.1).above.size() == 9);
    for (int i = 0; i < 400; ++i) trials.add(TrialState::complete, 100 - i);
    CHECK(split(trials, 0.1).below.size() == 25);
}

TEST_CASE("both sides are ordered by trial number, and ties go to the earlier trial") {
    Trials trials;
    for (const double value : {3., 1., 2., 1., 1.}) trials.add(TrialState::complete, value);
    CHECK(ids(split(trials, 0.4).below) == Ids{1, 3});
    CHECK(ids(split(trials, 0.4).above) == Ids{0, 2, 4});
}

TEST_CASE("complete trials come before pruned ones, and those before infeasible ones") {
    Trials trials;
    trials.add(TrialState::complete, -5).constraints["memory"] = 0.5;   // 0: infeasible, however good
    trials.add(TrialState::pruned);                                     // 1: without a report
    trials.add(TrialState::pruned).intermediate = {{0, 1}, {2, 9}};     // 2: got to step 2
    trials.add(TrialState::pruned).intermediate = {{0, 1}, {3, 50}};    // 3: got to step 3
    trials.add(TrialState::pruned).intermediate = {{3, 40}};            // 4: as far, and better
    trials.add(TrialState::pruned).intermediate = {{3, std::nan("")}};  // 5: as far, but NaN
    trials.add(TrialState::complete, 1000);                             // 6
    trials.add(TrialState::pruned).constraints["memory"] = 0.25;        // 7: less infeasible than 0
    const std::vector<Ids> expected{{6}, {4, 6}, {3, 4, 6}, {3, 4, 5, 6}, {2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6, 7}};
    for (std::size_t n = 1; n <= expected.size(); ++n) {
        CHECK(ids(split(trials, static_cast<double>(n) / 8).below) == expected[n - 1]);
    }
}

TEST_CASE("a trial is seen with the parameters that gave its value") {
    Trials trials;
    for (int i = 0; i < 3; ++i) trials.add(TrialState::complete, i);
    Trial& changed = trials.all[0];
    changed.attempts.resize(2);
    changed.attempts[1].changed_params.emplace();
    changed.attempts[1].changed_params->set("id", hpo::IntDistribution{0, 1000}, 500);
    CHECK(ids(split(trials, 0.1).below) == Ids{500});
    changed.attempts.pop_back();
    CHECK(ids(split(trials, 0.1).below) == Ids{0});
}

TEST_CASE("failed and waiting trials say nothing, unless a constraint says that they were infeasible") {
    Trials trials;
    trials.add(TrialState::complete, 1);
    trials.add(TrialState::fail);
    trials.add(TrialState::waiting);
    trials.add(TrialState::fail).constraints["memory"] = 2;
    trials.add(TrialState::fail).constraints["memory"] = -2;
    CHECK(ids(split(trials, 0.1).below) == Ids{0});
    CHECK(ids(split(trials, 0.1).above) == Ids{3});
}

TEST_CASE("running trials are above, but for the one that is drawn") {
    Trials trials;
    trials.add(TrialState::running);
    trials.add(TrialState::complete, 1);
    trials.add(TrialState::running);
    CHECK(ids(split(trials, 1).above) == Ids{0, 2});
    CHECK(ids(split(trials, 1, Direction::minimize, {}, 2).above) == Ids{0});
}

TEST_CASE("a NaN value is the worst, whichever way is better") {
    Trials trials;
    trials.add(TrialState::complete, std::nan(""));
    trials.add(TrialState::complete, 5);
    trials.add(TrialState::complete, -HUGE_VAL);
    trials.add(TrialState::complete);  // without a value
    CHECK(ids(split(trials, 0.5).below) == Ids{1, 2});
    CHECK(ids(split(trials, 0.25).below) == Ids{2});
    CHECK(ids(split(trials, 0.25, Direction::maximize).below) == Ids{1});
}

TEST_CASE("rejected proposals are infeasible observations in the order of time, and are not counted as trials") {
    Trials trials;
    trials.add(TrialState::complete, 1).started = hpo::Time{std::chrono::microseconds{10}};
    trials.add(TrialState::complete, 2).started = hpo::Time{std::chrono::microseconds{20}};
    std::vector<hpo::Rejection> rejections(3);
    for (std::size_t i = 0; i < 3; ++i) {
        rejections[i].params.set("id", hpo::IntDistribution{0, 1000}, 100.0 + static_cast<double>(i));
        rejections[i].violation = 1;
        rejections[i].at = hpo::Time{std::chrono::microseconds{15 * static_cast<std::int64_t>(i)}};
    }
    CHECK(ids(split(trials, 0.5, Direction::minimize, rejections).below) == Ids{0});
    CHECK(ids(split(trials, 0.5, Direction::minimize, rejections).above) == Ids{100, 101, 1, 102});
}
