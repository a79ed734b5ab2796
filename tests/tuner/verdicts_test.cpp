// SPDX-License-Identifier: MIT
#include "hpo/tuner/verdicts.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace hpo;

namespace {

std::vector<double> pruned_values(std::vector<double> reports) {
    Trial trial;
    for (std::size_t step = 0; step < reports.size(); ++step) trial.intermediate[static_cast<std::int64_t>(step)] = reports[step];
    tuner::settle_pruned(trial, "");
    CHECK(trial.state == TrialState::pruned);
    return trial.values;
}

}  // namespace

TEST_CASE("a trial that ends by an error of a rule is FAIL and says nothing about memory, and by the rule's answer it is infeasible") {
    Trial trial;
    trial.attempts.emplace_back();
    Failure failure{.kind = FailureKind::out_of_memory, .cause = OomCause::capacity};
    trial.attempts.back().failure = failure;
    Trial answered = trial;
    tuner::settle_failed(trial, failure, {.action = Recovery::Action::fail, .rule_error = "s.lua:9: got 121.5"}, 1000);
    CHECK(trial.state == TrialState::fail);
    CHECK(trial.constraints.empty());
    CHECK(trial.user_attributes.at("rule_error") == "\"s.lua:9: got 121.5\"");
    tuner::settle_failed(answered, failure, {.action = Recovery::Action::fail}, 1000);
    CHECK(answered.constraints.at("memory") > 0);
}

TEST_CASE("a pruned trial has the value of its last report, as with Optuna 5: also an infinite one, and none if it is NaN") {
    constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(pruned_values({1, 2}) == std::vector<double>{2});
    CHECK(pruned_values({1, infinity}) == std::vector<double>{infinity});
    CHECK(pruned_values({1, -infinity}) == std::vector<double>{-infinity});
    CHECK(pruned_values({1, nan}).empty());
    CHECK(pruned_values({}).empty());
}

TEST_CASE("a trial that was pruned with the text of an out-of-memory error has failed so, and a sentence about memory is no failure") {
    const auto failure_of = [](const std::string& reason) {
        AttemptOutcome outcome;
        outcome.prunes_itself = true;
        outcome.prune_reason = reason;
        return tuner::failure_of_pruned(outcome);
    };
    const std::string figures =
        "CUDA out of memory. Tried to allocate 200.00 MiB. GPU 0 has a total capacity of 15.48 GiB of which 19.88 MiB is free.";
    for (const std::string& text : {figures, "training failed:\n" + figures, std::string{"OutOfMemoryError('CUDA out of memory')"}}) {
        CAPTURE(text);
        REQUIRE(failure_of(text));
        CHECK(failure_of(text)->kind == FailureKind::out_of_memory);
    }
    CHECK(failure_of("RuntimeError: CUDA error: device-side assert triggered")->kind == FailureKind::cuda_sticky);
    for (const char* text :
         {"", "not promising", "it would be out of memory on the GPU", "ValueError: bad label", "CUDA device is too slow"}) {
        CAPTURE(text);
        CHECK_FALSE(failure_of(text));
    }
}

TEST_CASE("an attempt keeps which rung or rule answered its failure") {
    hpo::Attempt attempt;
    hpo::tuner::keep_answer(attempt, {.reason = "fresh_worker: the worker died", .rung = "fresh_worker"});
    CHECK(attempt.answered_by == "fresh_worker");
    CHECK(attempt.decision == "fresh_worker: the worker died");
    hpo::tuner::keep_answer(attempt, {.reason = "study.lua:3: smaller", .place = "study.lua:3"});
    CHECK(attempt.answered_by == "study.lua:3");
    hpo::tuner::keep_answer(attempt, {.reason = "no retry"});
    CHECK(attempt.answered_by.empty());
}
