// SPDX-License-Identifier: MIT
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "hpo/guard/unlimited.hpp"
#include "hpo/pruner/none.hpp"
#include "hpo/recovery/fail.hpp"
#include "hpo/sampler/brute_force.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/store/configurations.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/testing/trial_text.hpp"
#include "hpo/tuner.hpp"
#include "support/catch.hpp"

using namespace hpo;

namespace {

/// Draws at random, and keeps what it saw of the study at its latest draw.
struct Watching {
    sampler::Random random{};
    std::vector<Trial>* seen = nullptr;
    double suggest(const Ask& ask) {
        seen->assign(ask.trial.history.trials.begin(), ask.trial.history.trials.end());
        return random.suggest(ask);
    }
};

/// Prunes each trial at its first report.
struct Always {
    Verdict judge(const PruneQuery&) const { return {.answer = Verdict::Answer::prune, .reason = "always"}; }
};

/// x, and what the trial's number adds: 0, 0.1, 0.2, 0, ...
double noisy(LiveTrial& trial) { return trial.suggest_float("x", 0, 1) + 0.1 * static_cast<double>(trial.number() % 3); }

std::vector<Trial> trials_of(store::InMemory& store) {
    std::vector<Trial> trials;
    store.refresh(1, trials);
    return trials;
}

double x_of(const Trial& trial) { return *trial.params.number("x"); }

}  // namespace

TEST_CASE("each configuration gets so many trials, and a sampler sees their mean once all have ended") {
    store::InMemory store;
    std::vector<Trial> seen;
    Tuner tuner{Watching{.seen = &seen}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    const TuneResult result = tuner.optimize(store, "s", noisy, {.trials = 7, .seeds = 3});
    REQUIRE(result.trials.size() >= 7);
    for (const int first : {0, 3}) {
        const Trial& trial = result.trials[static_cast<std::size_t>(first)];
        CHECK(seeds_of(trial) == 3);
        CHECK_FALSE(repeated_trial(trial));
        for (const int other : {1, 2}) {
            const Trial& repeat = result.trials[static_cast<std::size_t>(first + other)];
            CHECK(repeated_trial(repeat) == first);
            CHECK(x_of(repeat) == x_of(trial));
        }
    }
    CHECK(x_of(result.trials[3]) != x_of(result.trials[0]));
    // The latest draw was for trial 6.
    REQUIRE(seen.size() == 3);
    CHECK(seen[0].number == 0);
    CHECK(seen[0].state == TrialState::complete);
    CHECK(seen[0].values.at(0) == Approx(x_of(result.trials[0]) + 0.1));
    CHECK(seen[1].number == 3);
    CHECK(seen[1].values.at(0) == Approx(x_of(result.trials[3]) + 0.1));
    CHECK(seen[2].number == 6);
}

TEST_CASE("the best configuration is that with the best mean") {
    store::InMemory store;
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    const TuneResult result = tuner.optimize(store, "s",
                                             [](LiveTrial& trial) {
                                                 (void)trial.suggest_float("x", 0, 1);
                                                 // 0: a lucky trial of a bad configuration; 3 to 5: equal ones of a good one
                                                 return std::vector<double>{0, 9, 9, 1, 1, 1}.at(static_cast<std::size_t>(trial.number()));
                                             },
                                             {.trials = 6, .seeds = 3});
    REQUIRE(result.best());
    CHECK(result.best()->number == 3);
}

TEST_CASE("a configuration whose first trial fails or is pruned is not repeated, and repeats are not pruned") {
    SECTION("fails") {
        store::InMemory store;
        Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
        const auto objective = [](LiveTrial& trial) -> double {
            (void)trial.suggest_float("x", 0, 1);
            if (trial.number() % 2 == 0) throw std::runtime_error{"no"};
            return 1;
        };
        (void)tuner.optimize(store, "s", objective, {.trials = 4, .seeds = 2});
        const std::vector<Trial> trials = trials_of(store);
        CHECK(trials[0].state == TrialState::fail);
        CHECK_FALSE(repeated_trial(trials[1]));
        CHECK(repeated_trial(trials[2]) == 1);
        CHECK(trials[2].state == TrialState::fail);
        CHECK_FALSE(repeated_trial(trials[3]));
        Configurations configurations;
        const auto seen = configurations.of(trials);
        REQUIRE(seen.size() == 3);  // trials 0, 1 and 3
        CHECK(seen[1].values == std::vector<double>{1});
    }
    SECTION("pruned") {
        store::InMemory store;
        Tuner tuner{sampler::Random{}, Always{}, guard::Unlimited{}, recovery::Fail{}};
        const auto objective = [](LiveTrial& trial) {
            (void)trial.suggest_float("x", 0, 1);
            if (trial.number() == 1) return 1.0;
            trial.report(0, 0.5);
            return trial.should_prune() ? 0.5 : 1.0;
        };
        (void)tuner.optimize(store, "s", objective, {.trials = 3, .seeds = 2});
        const std::vector<Trial> trials = trials_of(store);
        CHECK(trials[0].state == TrialState::pruned);
        CHECK(trials[1].state == TrialState::complete);
        CHECK(repeated_trial(trials[2]) == 1);
        CHECK(trials[2].state == TrialState::complete);
    }
}

TEST_CASE("repeats that a killed process could not enqueue are enqueued when the study goes on") {
    store::InMemory store;
    const Study study = store.open_study("s", std::vector{Direction::minimize}, Store::Open::create);
    Trial trial = store.begin_trial(study.id, std::nullopt);
    trial.params.set("x", FloatDistribution{0, 1, false, std::nullopt}, 0.25);
    store.set_params(trial);
    trial.state = TrialState::complete;
    trial.values = {0.5};
    trial.system_attributes[seeds_attribute] = 3;
    store.finish(trial);
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    const TuneResult result = tuner.optimize(store, "s", noisy, {.trials = 4, .seeds = 1});
    REQUIRE(result.trials.size() == 4);
    for (const std::size_t repeat : {1U, 2U}) {
        CHECK(repeated_trial(result.trials[repeat]) == 0);
        CHECK(x_of(result.trials[repeat]) == 0.25);
    }
    CHECK_FALSE(repeated_trial(result.trials[3]));
}

TEST_CASE("a sampler that proposes each configuration once leaves the repeats to run") {
    store::InMemory store;
    Tuner tuner{sampler::BruteForce{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    const auto objective = [](LiveTrial& trial) { return static_cast<double>(trial.suggest_int("n", 1, 2)); };
    const TuneResult result = tuner.optimize(store, "s", objective, {.trials = 100, .seeds = 3});
    CHECK(result.all_tried);
    std::map<std::int64_t, int> trials;
    for (const Trial& trial : result.trials) {
        CHECK(trial.state == TrialState::complete);
        ++trials[*trial.params.whole_number("n")];
    }
    CHECK(trials == std::map<std::int64_t, int>{{1, 3}, {2, 3}});
}

TEST_CASE("constraints that are found after the end of a trial leave an infeasible configuration with one trial") {
    store::InMemory store;
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    TuneOptions options{.trials = 6, .seeds = 2};
    options.constraints_after_end = [](const Trial& trial) {
        return std::map<std::string, double, std::less<>>{{"c", trial.number % 3 == 0 ? 1.0 : -1.0}};
    };
    const TuneResult result = tuner.optimize(store, "s", noisy, options);
    CHECK_FALSE(repeated_trial(result.trials[1]));
    CHECK(repeated_trial(result.trials[2]) == 1);
    Configurations configurations;
    CHECK(configurations.of(result.trials).front().state == TrialState::complete);
}

TEST_CASE("the mean of a configuration does not depend on the order of its trials") {
    const double infinity = std::numeric_limits<double>::infinity();
    for (const std::vector<double>& values : {std::vector{infinity, 1.0}, {1.0, infinity}, {infinity, infinity}}) {
        SeedTrials seeds;
        for (std::size_t i = 0; i < values.size(); ++i) {
            Trial trial;
            trial.number = static_cast<std::int64_t>(i);
            trial.state = TrialState::complete;
            trial.values = {values[i]};
            seeds.take(trial);
        }
        CHECK(seeds.mean(0) == infinity);
    }
}

TEST_CASE("configurations that grew with a study equal those that are read at once") {
    store::InMemory store;
    std::vector<Trial> seen;
    Configurations growing;
    Tuner tuner{Watching{.seen = &seen}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    for (std::int64_t trials = 1; trials <= 12; ++trials) {
        (void)tuner.optimize(store, "s", noisy, {.trials = trials, .seeds = trials < 4 ? 1 : 3});
        const std::vector<Trial> all = trials_of(store);
        const auto grown = growing.of(all);
        Configurations fresh;
        const auto read = fresh.of(all);
        REQUIRE(grown.size() == read.size());
        for (std::size_t i = 0; i < grown.size(); ++i) CHECK(testing::text_of(grown[i]) == testing::text_of(read[i]));
    }
}

TEST_CASE("a number of seeds below 1 is refused") {
    store::InMemory store;
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    CHECK_THROWS_WITH(tuner.optimize(store, "s", noisy, {.trials = 1, .seeds = 0}), "TuneOptions::seeds: got 0; expected at least 1");
}
