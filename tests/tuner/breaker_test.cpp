// SPDX-License-Identifier: MIT
#include "hpo/tuner/breaker.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "hpo/hpo.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/tuner/failed_configurations.hpp"
#include "support/catch.hpp"

using hpo::Breaker;
using hpo::FailureKind;
using hpo::Trial;
using hpo::TrialState;

namespace {

Trial failed(std::int64_t number, const std::string& message, FailureKind kind = FailureKind::trainer_error) {
    Trial trial;
    trial.number = number;
    trial.state = TrialState::fail;
    trial.attempts.emplace_back();
    trial.attempts.back().failure = hpo::Failure{.kind = kind, .message = message};
    trial.attempts.back().decision = "trainer_error";
    return trial;
}

Trial complete(std::int64_t number) {
    Trial trial;
    trial.number = number;
    trial.state = TrialState::complete;
    trial.attempts.emplace_back();
    return trial;
}

}  // namespace

TEST_CASE("errors of a rule count for the breaker, whatever failed before them, and say nothing about the parameters") {
    std::vector<Trial> trials;
    for (const std::int64_t number : {0, 1, 2}) {
        trials.push_back(failed(number, "CUDA out of memory", FailureKind::out_of_memory));
        trials.back().attempts.back().failure->cause = hpo::OomCause::capacity;
    }
    Breaker of_memory{3};
    for (const Trial& trial : trials) of_memory.see(trial);
    CHECK_FALSE(of_memory.trip());
    CHECK(hpo::tuner::fails_again({}, trials));

    for (Trial& trial : trials)
        trial.user_attributes["rule_error"] = "\"s.lua:9: got 4." + std::to_string(trial.number) + "; \\\"whole\\\"\"";
    Breaker of_rules{3};
    for (const Trial& trial : trials) of_rules.see(trial);
    REQUIRE(of_rules.trip());
    CHECK(of_rules.trip()->latest.kind == FailureKind::script_error);
    CHECK(of_rules.trip()->tried.empty());  // the error says it
    CHECK(of_rules.trip()->latest.message == "s.lua:9: got 4.2; \"whole\"");
    CHECK_FALSE(hpo::tuner::fails_again({}, trials));
}

TEST_CASE("a breaker trips at so many equal failures in a row") {
    Breaker breaker{3};
    breaker.see(failed(0, "no file 1"));
    breaker.see(failed(1, "no file 2"));
    CHECK_FALSE(breaker.trip());
    breaker.see(complete(2));  // it begins anew
    breaker.see(failed(3, "no file 3"));
    breaker.see(failed(4, "another error"));
    breaker.see(failed(5, "no file 4"));
    breaker.see(failed(6, "no file 5"));
    CHECK_FALSE(breaker.trip());
    breaker.see(failed(7, "no file 6"));
    REQUIRE(breaker.trip());
    CHECK(breaker.trip()->failures == 3);
    CHECK(breaker.trip()->of == 3);
    CHECK(breaker.trip()->trial == 7);
    CHECK(breaker.trip()->signature == "trainer_error: no file N");
    CHECK(breaker.trip()->tried == "trainer_error");
    breaker.see(failed(8, "no file 7"));
    CHECK(breaker.trip()->trial == 7);
}

TEST_CASE("a breaker trips when half of the latest trials failed in one way") {
    Breaker breaker{2};  // half of 10
    for (std::int64_t i = 0; i < 8; ++i) breaker.see(i % 2 == 0 ? failed(i, "odd") : complete(i));
    CHECK_FALSE(breaker.trip());  // four of eight, and ten are needed
    breaker.see(complete(8));
    breaker.see(complete(9));
    CHECK_FALSE(breaker.trip());  // four of ten
    breaker.see(failed(10, "odd"));
    CHECK_FALSE(breaker.trip());  // the first has left the ten
    breaker.see(complete(11));
    breaker.see(failed(12, "odd"));
    CHECK_FALSE(breaker.trip());
    Breaker fresh{2};
    for (std::int64_t i = 0; i < 10; ++i) fresh.see(i % 2 == 1 ? failed(i, "odd") : complete(i));
    REQUIRE(fresh.trip());
    CHECK(fresh.trip()->failures == 5);
    CHECK(fresh.trip()->of == 10);
}

TEST_CASE("a breaker names the device if all the failures were on it") {
    const auto on = [](std::int64_t number, const std::string& device) {
        Trial trial = failed(number, "no file");
        trial.attempts.back().plan.device = device;
        return trial;
    };
    Breaker one{3};
    for (const Trial& each : {on(0, "cuda:0"), complete(1), on(2, "cuda:1"), on(3, "cuda:1"), on(4, "cuda:1")}) one.see(each);
    REQUIRE(one.trip());
    CHECK(one.trip()->device == "cuda:1");
    Breaker both{3};
    for (const Trial& each : {on(0, "cuda:1"), on(1, "cuda:0"), on(2, "cuda:1")}) both.see(each);
    REQUIRE(both.trip());
    CHECK(both.trip()->device.empty());
}

TEST_CASE("memory that runs out and losses that diverge trip no breaker, nor does a breaker of 0") {
    Breaker breaker{2};
    for (std::int64_t i = 0; i < 20; ++i) breaker.see(failed(i, "nan", FailureKind::non_finite));
    for (std::int64_t i = 20; i < 40; ++i) breaker.see(failed(i, "out of memory", FailureKind::out_of_memory));
    CHECK_FALSE(breaker.trip());
    Breaker never{0};
    for (std::int64_t i = 0; i < 100; ++i) never.see(failed(i, "again"));
    CHECK_FALSE(never.trip());
}

TEST_CASE("failures that the caller lets pass trip no breaker") {
    Breaker breaker{3, [](const hpo::Failure& failure) { return failure.kind == FailureKind::crash; }};
    for (int i = 0; i < 40; ++i) breaker.see(failed(i, "the objective returned None"));
    CHECK_FALSE(breaker.trip());
    for (int i = 40; i < 43; ++i) breaker.see(failed(i, "signal 11", FailureKind::crash));
    CHECK(breaker.trip());
}

TEST_CASE("a study whose objective always throws ends after ten trials, and says so") {
    hpo::Tuner tuner{hpo::sampler::Random{}, hpo::pruner::None{}, hpo::guard::Unlimited{}, hpo::recovery::Fail{}};
    hpo::store::InMemory store;
    const auto objective = [](hpo::LiveTrial& trial) -> double {
        throw std::runtime_error{"no model of width " + std::to_string(trial.suggest_int("width", 1, 1000))};
    };
    const auto result = tuner.optimize(store, "s", objective, {.trials = 100});
    CHECK(result.trials.size() == 10);
    REQUIRE(result.broken);
    CHECK(result.broken->signature == "trainer_error, std::exception: no model of width N");
    const auto more = tuner.optimize(store, "s", objective, {.trials = 30, .breaker = 0});
    CHECK(more.trials.size() == 30);
    CHECK_FALSE(more.broken);

    const hpo::Space space = [](hpo::SpaceTrial& trial) { trial.suggest_float("x", 0, 1); };
    const auto job = [](hpo::tuner::RunningJob&) -> double { throw std::runtime_error{"always"}; };
    const auto known = tuner.optimize(store, "known", space, job, {.trials = 100});
    CHECK(known.trials.size() == 10);
    CHECK(known.broken);
}

TEST_CASE("parameters with which three trials failed alike are not tried again, and if no others are left the run ends") {
    const auto tune = [](std::vector<hpo::Value> kinds, std::int64_t breaker) {
        hpo::Tuner tuner{hpo::sampler::Random{}, hpo::pruner::None{}, hpo::guard::Unlimited{}, hpo::recovery::Fail{}};
        const hpo::Space space = [&](hpo::SpaceTrial& trial) { (void)trial.suggest_categorical("kind", kinds); };
        const auto job = [](hpo::tuner::RunningJob& running) {
            if (running.params().value("kind") == hpo::Value{std::string{"bad"}}) throw std::logic_error("out of range");
            return 1.0;
        };
        return tuner.optimize(hpo::store::InMemory{}, "s", space, job, {.trials = 60, .breaker = breaker});
    };
    const auto failed_of = [](const hpo::TuneResult& result) { return std::ranges::count(result.trials, TrialState::fail, &Trial::state); };
    CHECK(failed_of(tune({std::string{"good"}, std::string{"bad"}, std::string{"fine"}}, 10)) == hpo::tuner::most_equal_failures);
    CHECK(failed_of(tune({std::string{"good"}, std::string{"bad"}, std::string{"fine"}}, 0)) > hpo::tuner::most_equal_failures);
    const auto all_bad = tune({std::string{"bad"}}, 10);
    REQUIRE(all_bad.exhausted);
    CHECK(*all_bad.exhausted == "3 trials with these parameters failed in the same way, the latest in trial 2: out of range");
    CHECK(all_bad.trials.size() == 3);
    CHECK_FALSE(all_bad.broken);
    CHECK_FALSE(all_bad.interrupted);
    CHECK_FALSE(tune({std::string{"good"}, std::string{"bad"}}, 10).exhausted);
}

TEST_CASE("a sampler that goes on to propose what fails does not end a study of which something is left to try") {
    struct Stubborn {
        double suggest(const hpo::Ask&) const { return 0; }
    };
    hpo::Tuner tuner{Stubborn{}, hpo::pruner::None{}, hpo::guard::Unlimited{}, hpo::recovery::Fail{}};
    const hpo::Space space = [](hpo::SpaceTrial& trial) {
        (void)trial.suggest_categorical("kind", {std::string{"bad"}, std::string{"good"}});
    };
    const auto job = [](hpo::tuner::RunningJob& running) {
        if (running.params().value("kind") == hpo::Value{std::string{"bad"}}) throw std::logic_error("out of range");
        return 1.0;
    };
    const auto result = tuner.optimize(hpo::store::InMemory{}, "s", space, job, {.trials = 20});
    CHECK_FALSE(result.exhausted);
    CHECK(std::ranges::count(result.trials, TrialState::fail, &Trial::state) == hpo::tuner::most_equal_failures);
    CHECK(std::ranges::count(result.trials, TrialState::complete, &Trial::state) == 20 - hpo::tuner::most_equal_failures);
}

TEST_CASE("a study of which nothing is left to try adds no trial when it is called again, and takes enqueued ones") {
    hpo::Tuner tuner{hpo::sampler::Tpe{}, hpo::pruner::None{}, hpo::guard::Unlimited{}, hpo::recovery::Fail{}};
    const hpo::Space space = [](hpo::SpaceTrial& trial) {
        (void)trial.suggest_categorical("kind", {std::string{"bad"}, std::string{"worse"}});
    };
    std::int64_t ran = 0;
    const auto job = [&](hpo::tuner::RunningJob&) -> double {
        ++ran;
        throw std::logic_error("out of range");
    };
    hpo::store::InMemory store;
    for (int call = 0; call < 3; ++call) {
        const auto result = tuner.optimize(store, "s", space, job, {.trials = 60});
        CHECK(result.exhausted);
        CHECK(result.trials.size() == static_cast<std::size_t>(ran));
        CHECK(ran == 6);
        CHECK(std::ranges::none_of(result.trials, [](const Trial& trial) { return trial.attempts.empty(); }));
    }
    const hpo::Study study = store.open_study("s", std::vector{hpo::Direction::minimize}, hpo::Store::Open::create_or_resume);
    (void)store.enqueue(study.id, {{"kind", hpo::Value{std::string{"bad"}}}});
    const auto enqueued = tuner.optimize(store, "s", space, job, {.trials = 60});
    CHECK(ran == 7);
    CHECK(enqueued.exhausted);
}

TEST_CASE("a configuration that failed in different ways, or in one that may not come again, or also succeeded, is tried again") {
    std::vector<Trial> trials{failed(0, "a"), failed(1, "b"), failed(2, "a")};
    CHECK_FALSE(hpo::tuner::fails_again({}, trials));
    trials.push_back(failed(3, "a"));
    CHECK(hpo::tuner::fails_again({}, trials));
    CHECK_FALSE(hpo::tuner::fails_again({}, trials, [](const hpo::Failure&) { return false; }));
    trials.push_back(complete(4));
    CHECK_FALSE(hpo::tuner::fails_again({}, trials));
    const std::vector<Trial> lost{failed(0, "gone", FailureKind::lost_worker), failed(1, "gone", FailureKind::lost_worker),
                                  failed(2, "gone", FailureKind::lost_worker)};
    CHECK_FALSE(hpo::tuner::fails_again({}, lost));
}
