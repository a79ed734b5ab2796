// SPDX-License-Identifier: MIT
// Retries whose parameters a recovery policy of the program changed.
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hpo/hpo.hpp"
#include "support/catch.hpp"

using namespace hpo;

namespace {

const Space x_and_k = [](SpaceTrial& trial) {
    trial.suggest_float("x", 0, 1);
    trial.suggest_int("k", 2, 8);
    trial.suggest_categorical("model", {"small", "large"});
};

/// Retries twice, with the parameters that a function gives.
struct Changes {
    [[nodiscard]] Recovery recover(const FailedAttempt& failed) const {
        if (failed.attempt.index > 1) return recovery_of(failed, Recovery::Action::fail, "enough");
        Recovery answer = recovery_of(failed, Recovery::Action::retry, "changed");
        answer.params = params(failed);
        return answer;
    }
    std::function<std::optional<ParamSet>(const FailedAttempt&)> params;
};

/// Runs one trial whose first `failures` attempts fail. Returns it, and the parameters that each attempt saw.
std::pair<Trial, std::vector<ParamSet>> run_with(Changes recovery, std::size_t failures) {
    std::vector<ParamSet> seen;
    const auto job = [&](tuner::RunningJob& running) {
        seen.push_back(running.params());
        if (seen.size() <= failures) throw std::runtime_error{"fails"};
        return 1.0;
    };
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, std::move(recovery)};
    const TuneResult result = tuner.optimize(store::InMemory{}, "s", x_and_k, job, {.trials = 1});
    return {result.trials.at(0), seen};
}

ParamSet only(const std::string& name, Distribution distribution, double internal) {
    ParamSet params;
    params.set(name, std::move(distribution), internal);
    return params;
}

}  // namespace

TEST_CASE("a retry that changes one parameter keeps the others") {
    const auto [trial, seen] = run_with({[](const FailedAttempt&) { return only("k", IntDistribution{2, 8}, 2); }}, 1);
    CHECK(trial.state == TrialState::complete);
    REQUIRE(seen.size() == 2);
    CHECK(seen[1].get<int>("k") == 2);
    CHECK(seen[1].get<double>("x") == seen[0].get<double>("x"));
    CHECK(seen[1].get<std::string>("model") == seen[0].get<std::string>("model"));
    CHECK(seen[1].size() == 3);
    CHECK(*trial.attempts.at(1).changed_params == seen[1]);
    CHECK(trial.params == seen[0]);
}

TEST_CASE("a further retry keeps what an earlier one has changed") {
    const auto change_once = [](const FailedAttempt& failed) {
        return failed.attempt.index == 0 ? std::optional{only("k", IntDistribution{2, 8}, 2)} : std::nullopt;
    };
    const auto [trial, seen] = run_with({change_once}, 2);
    REQUIRE(seen.size() == 3);
    CHECK(seen[2] == seen[1]);
    const auto change_back = [](const FailedAttempt& failed) {
        return failed.attempt.index == 0 ? only("k", IntDistribution{2, 8}, 2) : failed.trial.params;
    };
    CHECK(run_with({change_back}, 2).second.at(2).get<int>("k") == run_with({change_back}, 2).second.at(0).get<int>("k"));
}

TEST_CASE("a changed value is one of the trial's distribution, however the policy describes it") {
    const auto [trial, seen] = run_with({[](const FailedAttempt&) { return only("model", CategoricalDistribution{{"large"}}, 0); }}, 1);
    CHECK(seen.at(1).get<std::string>("model") == "large");
    CHECK(*seen[1].find("model")->distribution == *seen[0].find("model")->distribution);
}

TEST_CASE("a retry with a value that the trial's distribution does not have ends the trial with the reason") {
    const auto reason_of = [](ParamSet params) {
        const auto [trial, seen] = run_with({[&](const FailedAttempt&) { return params; }}, 1);
        CHECK(trial.state == TrialState::fail);
        CHECK(seen.size() == 1);
        CHECK(trial.user_attributes.contains("rule_error"));
        CHECK(trial.constraints.empty());
        return trial.attempts.at(0).decision;
    };
    CHECK(reason_of(only("k", IntDistribution{2, 8}, 1000)) == "recovery policy: parameter 'k': got 1000; expected int [2, 8]");
    CHECK(reason_of(only("k", IntDistribution{1, 100}, 50)) == "recovery policy: parameter 'k': got 50; expected int [2, 8]");
    CHECK(reason_of(only("x", FloatDistribution{0, 9}, 9)) == "recovery policy: parameter 'x': got 9; expected float [0, 1]");
    CHECK(reason_of(only("model", CategoricalDistribution{{"huge"}}, 0)) ==
          "recovery policy: parameter 'model': got huge; expected one of small, large");
    CHECK(reason_of(only("model", CategoricalDistribution{{"small", "large"}}, 7)) ==
          "recovery policy: parameter 'model': got 7; expected one of small, large");
    ParamSet bare;
    bare.set(Param{.name = "k", .distribution = nullptr, .internal = 3});
    CHECK(reason_of(bare) == "recovery policy: parameter 'k': got 3; expected int [2, 8]");
}

TEST_CASE("a parameter that the space does not ask for is an option of the trainer, and may be changed") {
    const auto [trial, seen] =
        run_with({[](const FailedAttempt&) { return only("epochs", CategoricalDistribution{{std::int64_t{3}}}, 0); }}, 1);
    CHECK(trial.state == TrialState::complete);
    CHECK(seen.at(1).get<int>("epochs") == 3);
    CHECK(seen[1].size() == 4);
}

TEST_CASE("a retry under a plan that no trainer can run ends the trial with the reason") {
    struct AsksFor {
        std::optional<std::int64_t> ExecutionPlan::*member;
        std::int64_t number;
        [[nodiscard]] Recovery recover(const FailedAttempt& failed) const {
            Recovery answer = recovery_of(failed, Recovery::Action::retry, "smaller");
            answer.plan.*member = number;
            return answer;
        }
    };
    int runs = 0;
    const auto job = [&](tuner::RunningJob&) -> double {
        ++runs;
        throw std::runtime_error{"fails"};
    };
    const auto decision = [&](const AsksFor& policy) {
        Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, policy};
        const TuneResult result = tuner.optimize(store::InMemory{}, "s", x_and_k, job, {.trials = 1});
        CHECK(result.trials.at(0).state == TrialState::fail);
        return result.trials[0].attempts.at(0).decision;
    };
    CHECK(decision({&ExecutionPlan::micro_batch, 0}) == "recovery policy: micro_batch: got 0; expected 1 or more");
    CHECK(decision({&ExecutionPlan::cap_bytes, -1}) == "recovery policy: cap_bytes: got -1; expected 1 or more");
    CHECK(runs == 2);
}
