// SPDX-License-Identifier: MIT
#include "hpo/recovery/ladder.hpp"
#include "hpo/recovery/rungs/rung_record.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/failure/python_error.hpp"
#include "hpo/testing/recovery_contract.hpp"
#include "support/catch.hpp"

using namespace hpo::recovery;
using hpo::Attempt;
using hpo::ExecutionPlan;
using hpo::Failure;
using hpo::FailureKind;
using hpo::OomCause;
using hpo::Recovery;
using hpo::Trial;

namespace {

Failure out_of_memory(OomCause cause) {
    Failure failure{.kind = FailureKind::out_of_memory, .message = "out of memory", .where = "backward"};
    failure.cause = cause;
    return failure;
}

/// Lets a trial fail in one way until a policy ends it. Returns its decisions.
template <class Policy>
std::vector<std::string> decisions(const Policy& policy, const Failure& failure, ExecutionPlan plan, const std::vector<Trial>& before = {},
                                   const hpo::PlanRefusal& refuses = {}, std::size_t other_devices = 0) {
    hpo::History history{};
    history.trials = before;
    Trial trial;
    std::vector<std::string> decided;
    while (true) {
        Attempt& attempt = trial.attempts.emplace_back();
        attempt.index = static_cast<int>(trial.attempts.size()) - 1;
        attempt.plan = plan;
        attempt.failure = failure;
        const Recovery answer = policy.recover({trial, attempt, *attempt.failure, history, &refuses, other_devices});
        attempt.decision = answer.reason;
        decided.push_back(answer.reason);
        REQUIRE(decided.size() < 50);
        if (answer.action != Recovery::Action::retry) return decided;
        plan = answer.plan;
    }
}

std::vector<std::string> names(const std::vector<std::string>& decided) {
    std::vector<std::string> found;
    for (const std::string& decision : decided) found.push_back(decision.substr(0, decision.find_first_of(":;,")));
    return found;
}

ExecutionPlan plan_of(std::int64_t batch, const std::string& device = "cuda:0") {
    ExecutionPlan plan;
    plan.effective_batch = batch;
    plan.device = device;
    return plan;
}

/// A finished trial in which a rung was tried for a failure and did not help.
Trial in_vain(const std::string& rung, const Failure& failure, bool helped = false) {
    Trial trial;
    trial.state = helped ? hpo::TrialState::complete : hpo::TrialState::pruned;
    trial.attempts.resize(2);
    trial.attempts[0].failure = failure;
    trial.attempts[0].decision = decision_of(rung, "retry");
    if (!helped) trial.attempts[1].failure = failure;
    return trial;
}

}  // namespace

TEST_CASE("a ladder keeps the contract of recovery policies") {
    CHECK(hpo::testing::recovery_contract([] { return Ladder<>{}; }).broken == std::vector<std::string>{});
    CHECK(hpo::testing::recovery_contract([] { return Ladder<ShrinkMicroBatch, CheckpointActivations, FreshWorker, Prune>{}; }).broken ==
          std::vector<std::string>{});
    CHECK(hpo::testing::recovery_contract([] {
              return Ladder{Retry{.most = 3}, Wait{.timeout_seconds = 1}};
          }).broken == std::vector<std::string>{});
    CHECK(hpo::testing::recovery_contract([] { return Ladder<Alone, Wait>{}; }).broken == std::vector<std::string>{});
}

TEST_CASE("a fault of a device sends a trial to each of the others once, and what is the trial's own does not") {
    using Names = std::vector<std::string>;
    const Failure fault{.kind = FailureKind::hardware, .message = "uncorrectable ECC error", .code = 214};
    const auto decided = [&](const Failure& failure, std::size_t others) {
        return names(decisions(Ladder<>{}, failure, plan_of(1), {}, {}, others));
    };
    CHECK(decided(fault, 0) == Names{"hardware"});
    CHECK(decided(fault, 1) == Names{"other_device", "hardware"});
    CHECK(decided(fault, 7) == Names{"other_device", "other_device", "other_device", "hardware"});
    CHECK(decided(out_of_memory(OomCause::neighbour), 1).front() == "other_device");
    for (const std::string& name : decided(out_of_memory(OomCause::capacity), 2)) CHECK(name != "other_device");
    const auto by_default = decisions(ShrinkMicroBatch{}, fault, plan_of(1), {}, {}, 1);
    CHECK(by_default == Names{"other_device: a fault of cuda:0: retry on another device", "hardware"});
    const Failure lost_peer = hpo::classify_python("RuntimeError: NCCL error: remote process exited or there was a network error");
    const Names for_peer = decisions(Ladder<>{}, lost_peer, plan_of(1), {}, {}, 1);
    CHECK(std::ranges::count(for_peer, "other_device: another process is to blame: retry on another device") == 1);
}

TEST_CASE("a ladder goes from rung to rung as the cause needs it") {
    using Names = std::vector<std::string>;
    const Ladder<> ladder;
    CHECK(names(decisions(ladder, out_of_memory(OomCause::capacity), plan_of(4))) ==
          Names{"shrink_micro_batch", "shrink_micro_batch", "checkpoint_activations", "prune"});
    CHECK(names(decisions(ladder, out_of_memory(OomCause::fragmentation), plan_of(1))) ==
          Names{"expandable_segments", "fresh_worker", "checkpoint_activations", "prune"});
    CHECK(names(decisions(ladder, out_of_memory(OomCause::fragmentation), plan_of(1, "cpu"))) ==
          Names{"fresh_worker", "checkpoint_activations", "prune"});
    CHECK(names(decisions(ladder, out_of_memory(OomCause::leak), plan_of(1))) == Names{"fresh_worker", "checkpoint_activations", "prune"});
    CHECK(names(decisions(ladder, out_of_memory(OomCause::neighbour), plan_of(2))) ==
          Names{"alone", "wait", "wait", "wait", "shrink_micro_batch", "checkpoint_activations", "prune"});
    CHECK(names(decisions(ladder, out_of_memory(OomCause::host), plan_of(64))) == Names{"prune"});
    CHECK(names(decisions(ladder, Failure{.kind = FailureKind::crash}, plan_of(64))) == Names{"fresh_worker", "crash"});
    CHECK(names(decisions(ladder, Failure{.kind = FailureKind::cuda_sticky, .code = 710}, plan_of(64))) == Names{"cuda_sticky"});
    CHECK(names(decisions(ladder, Failure{.kind = FailureKind::trainer_error}, plan_of(64))) == Names{"trainer_error"});
    CHECK(decisions(ladder, out_of_memory(OomCause::capacity), plan_of(4)).back() ==
          "prune: out_of_memory; tried: shrink_micro_batch 2 times, checkpoint_activations");
}

TEST_CASE("a rung counts its own retries, not those of the rungs before it") {
    std::vector<std::string> wanted{"alone", "wait", "wait", "wait"};
    wanted.insert(wanted.end(), 8, "shrink_micro_batch");  // from 256 to 1
    wanted.insert(wanted.end(), {"checkpoint_activations", "prune"});
    CHECK(names(decisions(Ladder<>{}, out_of_memory(OomCause::neighbour), plan_of(256))) == wanted);
}

TEST_CASE("a ladder of types is the one that is named") {
    const Ladder<ShrinkMicroBatch, CheckpointActivations, FreshWorker, Prune> typed;
    const Ladder<> named{{.rungs = "shrink_micro_batch+checkpoint_activations+fresh_worker+prune"}};
    for (const OomCause cause : {OomCause::capacity, OomCause::fragmentation, OomCause::leak, OomCause::neighbour})
        CHECK(decisions(typed, out_of_memory(cause), plan_of(8)) == decisions(named, out_of_memory(cause), plan_of(8)));
    CHECK(decisions(Ladder<Wait>{}, out_of_memory(OomCause::capacity), plan_of(8)) ==
          std::vector<std::string>{"out_of_memory, and no rung is left"});
}

TEST_CASE("retry and wait have arguments, with the same meaning in C++ and in words") {
    const Failure away{.kind = FailureKind::trainer_error, .message = "the server is away"};
    const Ladder typed{Retry{.most = 2}, Wait{.timeout_seconds = 30, .interval_seconds = 5}, Prune{}};
    const Ladder<> named{{.rungs = "retry(2) + wait(30s, 5s) + prune"}};
    const std::vector<std::string> wanted{"retry: trainer_error: retry as it was (1 of 2)",
                                          "retry: trainer_error: retry as it was (2 of 2)", "trainer_error; tried: retry 2 times"};
    CHECK(decisions(typed, away, plan_of(8)) == wanted);
    CHECK(decisions(named, away, plan_of(8)) == wanted);
    CHECK(names(decisions(Ladder<>{{.rungs = "retry+prune"}}, away, plan_of(8))) == std::vector<std::string>{"retry", "trainer_error"});
    // What is sure to come again is left to the next rung.
    CHECK(names(decisions(named, out_of_memory(OomCause::capacity), plan_of(8))) == std::vector<std::string>{"prune"});
    CHECK(names(decisions(named, Failure{.kind = FailureKind::non_finite}, plan_of(8))) == std::vector<std::string>{"non_finite"});

    const auto answer = [](const auto& ladder) {
        Trial trial;
        trial.attempts.emplace_back().failure = out_of_memory(OomCause::neighbour);
        const hpo::History history{};
        return ladder.recover({trial, trial.attempts[0], *trial.attempts[0].failure, history});
    };
    const auto waits = [&](const char* rungs) {
        const Recovery recovery = answer(Ladder<>{{.rungs = rungs}});
        return std::pair{recovery.wait_seconds, recovery.wait_interval_seconds};
    };
    CHECK(waits("wait(30min, 10s)") == std::pair{std::optional{1800.0}, 10.0});
    CHECK(waits("wait(45)") == std::pair{std::optional{45.0}, 1.0});
    CHECK(waits("wait") == std::pair{std::optional{600.0}, 1.0});
    CHECK(waits("wait()") == waits("wait"));
    CHECK(answer(Ladder{Wait{.timeout_seconds = 30, .interval_seconds = 5}}).wait_interval_seconds == 5);
    CHECK(answer(Ladder{Retry{}}).fresh_worker);
}

TEST_CASE("a rung that changes the result says so, and only who is named does it") {
    const Failure failure = out_of_memory(OomCause::capacity);
    const Ladder<> named{{.rungs = "lower_precision+prune"}};
    CHECK(decisions(named, failure, plan_of(8)) ==
          std::vector<std::string>{"lower_precision: out of memory: retry in bf16, which changes the result",
                                   "prune: out_of_memory; tried: lower_precision"});
    ExecutionPlan bf16 = plan_of(8);
    bf16.precision = hpo::Precision::bf16;
    CHECK(names(decisions(named, failure, bf16)) == std::vector<std::string>{"prune"});
    for (const std::string& name : names(decisions(Ladder<>{}, failure, plan_of(8)))) CHECK(name != "lower_precision");

    Trial trial;
    trial.attempts.emplace_back().plan = plan_of(8);
    trial.attempts.back().failure = failure;
    const hpo::History history{};
    const Recovery answer = named.recover({trial, trial.attempts[0], failure, history});
    CHECK(answer.plan.precision == hpo::Precision::bf16);
    CHECK(answer.plan.effective_batch == 8);
}

TEST_CASE("what was away is waited for in pauses that double, once it was there before") {
    using Names = std::vector<std::string>;
    const Failure away = hpo::classify_python("requests.exceptions.ConnectionError: host: Max retries exceeded with url: /model");
    REQUIRE(away.kind == FailureKind::environment);
    const auto at = [](std::int64_t second) { return hpo::Time{std::chrono::microseconds{second * 1'000'000}}; };
    Trial well;
    well.state = hpo::TrialState::complete;
    well.completed = at(10);
    well.attempts.emplace_back();
    const std::vector<Trial> before{well};
    const auto decided = [&](const auto& policy, const std::vector<Trial>& trials) { return decisions(policy, away, plan_of(8), trials); };

    std::vector<double> pauses;
    Trial trial;
    hpo::History history{};
    history.trials = before;
    while (true) {
        Attempt& attempt = trial.attempts.emplace_back();
        attempt.failure = away;
        const Recovery answer = Ladder<>{}.recover({trial, attempt, away, history});
        if (answer.action != Recovery::Action::retry) break;
        CHECK_FALSE(answer.wait_seconds);
        attempt.decision = answer.reason;
        pauses.push_back(answer.pause_seconds);
        REQUIRE(pauses.size() < 20);
    }
    CHECK(pauses == std::vector<double>{5, 10, 20, 40, 80, 160, 285});  // ten minutes in all
    CHECK(decided(Ladder<>{}, before).front() == "backoff: no network: retry after 5 s");
    CHECK(decided(Ladder<>{}, before).back() == "environment; tried: backoff 7 times");
    CHECK(decided(ShrinkMicroBatch{}, before).size() == 8);
    CHECK(decided(ShrinkMicroBatch{}, before).back() == "environment, also after 7 pauses");
    CHECK(decided(ShrinkMicroBatch{{.outage_seconds = 0}}, before) == Names{"environment"});
    CHECK(decided(Ladder{Backoff{.timeout_seconds = 1, .interval_seconds = 1}, Prune{}}, before).size() == 2);
    CHECK(names(decided(Ladder<>{{.rungs = "backoff(30s, 10s)+prune"}}, before)) == Names{"backoff", "backoff", "environment"});
    CHECK_THROWS_WITH(Ladder<>{{.rungs = "backoff(1s, 2s)"}}, Catch::Contains("expected an interval of at most the timeout"));

    // Nothing tells that it was ever there.
    CHECK(decided(Ladder<>{}, {}) == Names{"environment"});
    CHECK(decided(ShrinkMicroBatch{}, {}) == Names{"environment"});
    const Failure full = hpo::classify_python("OSError: [Errno 28] No space left on device");
    CHECK(decisions(Ladder<>{}, full, plan_of(8), before) == Names{"environment"});  // a trial may fill a disk by itself
    // What does not pass by itself.
    CHECK(decisions(Ladder<>{}, hpo::classify_python("ModuleNotFoundError: No module named 'x'"), plan_of(8), before).size() == 1);
    // Another trial has waited in vain, and none has ended well since.
    Trial failed = well;
    failed.state = hpo::TrialState::fail;
    failed.completed = at(700);
    failed.attempts.back().failure = away;
    failed.attempts.back().decision = "backoff: retry after 285 s";
    failed.attempts.emplace_back().failure = away;
    CHECK(decided(Ladder<>{}, {well, failed}) == Names{"environment"});
    // A trial that was interrupted in its pause, or while it ran, says nothing.
    Trial interrupted = failed;
    interrupted.attempts.pop_back();
    CHECK(decided(Ladder<>{}, {well, interrupted}).size() == 8);
    interrupted.attempts = {Attempt{}};
    CHECK(decided(Ladder<>{}, {interrupted}) == Names{"environment"});
    Trial later = well;
    later.completed = at(800);
    CHECK(decided(Ladder<>{}, {later, failed}).size() == 8);
}

TEST_CASE("where segments cannot grow, large blocks are not split") {
    const hpo::PlanRefusal old_libtorch = [](const ExecutionPlan& from, const ExecutionPlan& to) {
        return to.expandable_segments && !from.expandable_segments ? std::optional<std::string>{"added in 2.1"} : std::nullopt;
    };
    const auto decided = decisions(Ladder<>{}, out_of_memory(OomCause::fragmentation), plan_of(1), {}, old_libtorch);
    CHECK(names(decided) == std::vector<std::string>{"limit_splits", "fresh_worker", "checkpoint_activations", "prune"});
    CHECK(decided.front() == "limit_splits: memory was fragmented: retry without splits of large blocks");
}

TEST_CASE("a rung whose plan the trainer does not obey is left out") {
    const hpo::PlanRefusal refuses = [](const ExecutionPlan&, const ExecutionPlan& to) {
        return to.activation_checkpointing ? std::optional<std::string>{"no lever"} : std::nullopt;
    };
    CHECK(names(decisions(Ladder<>{}, out_of_memory(OomCause::capacity), plan_of(2), {}, refuses)) ==
          std::vector<std::string>{"shrink_micro_batch", "prune"});
}

TEST_CASE("a rung that never helped for this cause in the study is tried last") {
    const Failure failure = out_of_memory(OomCause::capacity);
    std::vector<Trial> before(2, in_vain("shrink_micro_batch", failure));
    const auto first = [&] { return decisions(Ladder<>{}, failure, plan_of(2), before).front(); };
    CHECK(names({first()}).front() == "shrink_micro_batch");  // two trials are too few
    before.push_back(in_vain("shrink_micro_batch", out_of_memory(OomCause::fragmentation)));
    CHECK(names({first()}).front() == "shrink_micro_batch");  // another cause
    before.push_back(in_vain("shrink_micro_batch", failure));
    CHECK(names({first()}).front() == "checkpoint_activations");
    CHECK(names(decisions(Ladder<>{}, failure, plan_of(2), before)) ==
          std::vector<std::string>{"checkpoint_activations", "shrink_micro_batch", "prune"});
    CHECK_THAT(decisions(Ladder<>{}, failure, plan_of(2), before).at(1), Catch::Contains("(it has helped in none of 3 trials)"));
    before.push_back(in_vain("shrink_micro_batch", failure, true));
    CHECK(names({first()}).front() == "shrink_micro_batch");
}

TEST_CASE("a rung helped if the attempt under it fits once its reservation is large enough") {
    const Failure failure = out_of_memory(OomCause::capacity);
    Trial trial = in_vain("shrink_micro_batch", failure);
    trial.state = hpo::TrialState::complete;
    trial.attempts[1].failure = out_of_memory(OomCause::limit);
    trial.attempts[1].decision = "requires more than the 2.00 GiB that was reserved for it: runs again with more of the device";
    trial.attempts.emplace_back();
    const std::vector<Trial> before(3, trial);
    const auto failures = hpo::recovery::FailureClass::of(failure);
    CHECK(hpo::recovery::record_of("shrink_micro_batch", failures, before).helped == 3);
    CHECK(names({decisions(Ladder<>{}, failure, plan_of(2), before).front()}).front() == "shrink_micro_batch");
    // A failure of another kind in between says nothing about it.
    trial.attempts[1].failure = Failure{.kind = FailureKind::crash};
    trial.attempts[1].decision = decision_of("fresh_worker", "retry");
    CHECK(hpo::recovery::record_of("shrink_micro_batch", failures, std::vector<Trial>{trial}).helped == 1);
    trial.attempts[1].failure = out_of_memory(OomCause::limit);
    // What another rung did afterwards is its own merit.
    trial.attempts[1].decision = decision_of("fresh_worker", "retry");
    CHECK(hpo::recovery::record_of("shrink_micro_batch", failures, std::vector<Trial>{trial}).helped == 0);
}

TEST_CASE("who answered an attempt is what it keeps, or in older stores the first word of its decision") {
    hpo::Attempt attempt;
    attempt.decision = "micro-batch 8: half as much";
    CHECK(hpo::recovery::answerer_of(attempt).empty());
    attempt.decision = "fresh_worker: the worker died";
    CHECK(hpo::recovery::answerer_of(attempt) == "fresh_worker");
    attempt.answered_by = "my study.lua:12";
    CHECK(hpo::recovery::answerer_of(attempt) == "my study.lua:12");
}

TEST_CASE("a ladder says which rung answered") {
    hpo::Trial trial;
    trial.attempts.emplace_back();
    trial.attempts[0].plan = plan_of(8);
    trial.attempts[0].failure = out_of_memory(OomCause::capacity);
    const hpo::Recovery answer =
        Ladder<>{}.recover(hpo::FailedAttempt{trial, trial.attempts[0], *trial.attempts[0].failure, hpo::History{}});
    CHECK(answer.rung == "shrink_micro_batch");
    CHECK(answer.reason.starts_with("shrink_micro_batch: "));
}

TEST_CASE("a rung that shrinks the micro-batch stops at its argument") {
    const Failure failure = out_of_memory(OomCause::capacity);
    const auto shrinks = [&](const std::string& rungs, std::int64_t micro) {
        return names({decisions(Ladder<>{{.rungs = rungs}}, failure, plan_of(micro), {}).front()}).front() == "shrink_micro_batch";
    };
    CHECK(shrinks("shrink_micro_batch+prune", 4));
    CHECK(shrinks("shrink_micro_batch(4)+prune", 8));
    CHECK_FALSE(shrinks("shrink_micro_batch(4)+prune", 4));
}

TEST_CASE("a ladder's configuration names known rungs, each once") {
    CHECK_THROWS_WITH(Ladder<>{{.rungs = "shrink_microbatch"}},
                      Catch::Contains("unknown rung 'shrink_microbatch'; did you mean 'shrink_micro_batch'?"));
    CHECK_THROWS_WITH(Ladder<>{{.rungs = "wait+wait"}}, Catch::Contains("'wait' twice"));
    CHECK_THROWS_WITH(Ladder<>{{.rungs = "wait(1s)+wait(2s)"}}, Catch::Contains("'wait' twice"));
    CHECK_THROWS_WITH(Ladder<>{{.rungs = "wait(soon)"}}, "rungs: got 'wait(soon)'; expected timeout as a duration above 0, such as 10min");
    CHECK_THROWS_WITH(Ladder<>{{.rungs = "wait(10s, 0)"}}, Catch::Contains("expected interval as a duration above 0"));
    CHECK_THROWS_WITH(Ladder<>{{.rungs = "wait(1h, 2h)"}}, "rungs: got 'wait(1h, 2h)'; expected an interval of at most the timeout");
    CHECK_NOTHROW(Ladder<>{{.rungs = "wait(0.5s)"}});
    CHECK_THROWS_WITH(Ladder<>{{.rungs = "shrink_micro_batch(0)"}}, Catch::Contains("expected min_micro_batch as a whole number above 0"));
    CHECK_THROWS_WITH(Ladder<>{{.rungs = "retry(0)"}}, "rungs: got 'retry(0)'; expected n as a whole number above 0");
    CHECK_THROWS_WITH(Ladder<>{{.rungs = "retry(1, 2)"}}, "rungs: got 'retry(1, 2)' with 2 arguments; expected retry(n)");
    CHECK_THROWS_WITH(Ladder<>{{.rungs = "prune(1)"}}, "rungs: got 'prune(1)' with 1 argument; expected prune");
    CHECK_THROWS_WITH(Ladder<>{{.rungs = "prune+retry"}}, Catch::Contains("'retry' behind prune") && Catch::Contains("the last rung"));
    CHECK_THROWS_WITH(Ladder<>{{.rungs = "retry(2"}}, "rungs: got 'retry(2'; expected a ) at its end");
    CHECK_THROWS_WITH(Ladder<>{{.rungs = ""}}, Catch::Contains("rungs: got ''; expected rungs, with one + or one comma"));
    CHECK_THROWS_WITH(Ladder<>{{.rungs = "prune+"}}, Catch::Contains("rungs: got 'prune+'; expected rungs, with one +"));
}
