// SPDX-License-Identifier: MIT
#include "hpo/tuner/breaker.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "hpo/hpo.hpp"
#include "hpo/store/in_memory.hpp"
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

TEST_CASE("memory that runs out and losses that diverge trip no breaker, nor does a breaker of 0") {
    Breaker breaker{2};
    for (std::int64_t i = 0; i < 20; ++i) breaker.see(failed(i, "nan", FailureKind::non_finite));
    for (std::int64_t i = 20; i < 40; ++i) breaker.see(failed(i, "out of memory", FailureKind::out_of_memory));
    CHECK_FALSE(breaker.trip());
    Breaker never{0};
    for (std::int64_t i = 0; i < 100; ++i) never.see(failed(i, "again"));
    CHECK_FALSE(never.trip());
}

TEST_CASE("a study whose objective always throws ends after ten trials, and says so") {
    hpo::Tuner tuner{hpo::sampler::Random{}, hpo::pruner::None{}, hpo::memory::Unlimited{}, hpo::recovery::Fail{}};
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
