// SPDX-License-Identifier: MIT
#include "hpo/recovery/shrink_micro_batch.hpp"

#include "support/catch.hpp"

using hpo::FailureKind;
using hpo::Recovery;
using hpo::recovery::ShrinkMicroBatch;

namespace {

/// What `policy` answers to a failure of attempt `index` under `plan`.
Recovery answer(const ShrinkMicroBatch& policy, const hpo::ExecutionPlan& plan, hpo::Failure failure, int index = 0) {
    hpo::Trial trial;
    hpo::Attempt attempt;
    attempt.index = index;
    attempt.plan = plan;
    return policy.recover({trial, attempt, failure, hpo::History{}});
}

hpo::Failure out_of_memory(std::optional<hpo::OomCause> cause = std::nullopt) {
    hpo::Failure failure;
    failure.kind = FailureKind::out_of_memory;
    failure.cause = cause;
    return failure;
}

hpo::ExecutionPlan plan(std::optional<std::int64_t> effective, std::optional<std::int64_t> micro = std::nullopt) {
    hpo::ExecutionPlan plan;
    plan.effective_batch = effective;
    plan.micro_batch = micro;
    return plan;
}

}  // namespace

TEST_CASE("out of memory halves the micro-batch and keeps the effective batch") {
    const Recovery first = answer(ShrinkMicroBatch{}, plan(64), out_of_memory());
    REQUIRE(first.action == Recovery::Action::retry);
    CHECK(first.plan.effective_batch == 64);
    CHECK(first.plan.micro_batch == 32);
    CHECK(first.plan.accumulation_steps() == 2);
    CHECK(first.reason == "out of memory at micro-batch 64: retry at 32 with 2 accumulation steps");

    const Recovery second = answer(ShrinkMicroBatch{}, first.plan, out_of_memory(), 1);
    CHECK(second.plan.micro_batch == 16);
    CHECK(second.plan.accumulation_steps() == 4);
}

TEST_CASE("an odd micro-batch is rounded down and accumulation covers the rest") {
    const Recovery recovery = answer(ShrinkMicroBatch{}, plan(50, 25), out_of_memory());
    CHECK(recovery.plan.micro_batch == 12);
    CHECK(recovery.plan.accumulation_steps() == 5);
}

TEST_CASE("every cause of device memory running out is answered alike") {
    for (const auto cause : {hpo::OomCause::capacity, hpo::OomCause::limit, hpo::OomCause::unknown, hpo::OomCause::fragmentation}) {
        CHECK(answer(ShrinkMicroBatch{}, plan(8), out_of_memory(cause)).action == Recovery::Action::retry);
    }
}

TEST_CASE("weights that do not fit are no matter of the micro-batch, somebody else's memory may be") {
    const auto in_build = [](std::optional<hpo::OomCause> cause) {
        hpo::Failure failure = out_of_memory(cause);
        failure.where = "build";
        return answer(ShrinkMicroBatch{}, plan(64), failure);
    };
    CHECK(in_build(hpo::OomCause::capacity).action == Recovery::Action::prune);
    CHECK(in_build(std::nullopt).reason == "out of memory for the model's weights, whatever the micro-batch");
    CHECK(in_build(hpo::OomCause::neighbour).action == Recovery::Action::retry);
}

TEST_CASE("the micro-batch stops at its minimum, and the trial is pruned there") {
    const ShrinkMicroBatch policy{{.min_micro_batch = 6}};
    CHECK(answer(policy, plan(64, 8), out_of_memory()).plan.micro_batch == 6);
    const Recovery last = answer(policy, plan(64, 6), out_of_memory());
    CHECK(last.action == Recovery::Action::prune);
    CHECK(last.reason == "out of memory at micro-batch 6, the smallest allowed");
}

TEST_CASE("the number of retries is bounded") {
    const ShrinkMicroBatch policy{{.max_retries = 2}};
    CHECK(answer(policy, plan(64, 32), out_of_memory(), 1).action == Recovery::Action::retry);
    CHECK(answer(policy, plan(64, 16), out_of_memory(), 2).action == Recovery::Action::prune);
}

TEST_CASE("a trial without a batch, or out of host memory, is pruned") {
    CHECK(answer(ShrinkMicroBatch{}, plan(std::nullopt), out_of_memory()).action == Recovery::Action::prune);
    CHECK(answer(ShrinkMicroBatch{}, plan(64), out_of_memory(hpo::OomCause::host)).action == Recovery::Action::prune);
    hpo::Failure host;
    host.kind = FailureKind::host_out_of_memory;
    CHECK(answer(ShrinkMicroBatch{}, plan(64), host).action == Recovery::Action::prune);
}

TEST_CASE("failures that are not about memory end as FAIL") {
    for (const auto kind : {FailureKind::trainer_error, FailureKind::cuda_sticky, FailureKind::non_finite, FailureKind::bad_batch}) {
        hpo::Failure failure;
        failure.kind = kind;
        CHECK(answer(ShrinkMicroBatch{}, plan(64), failure).action == Recovery::Action::fail);
    }
}

TEST_CASE("a worker that died costs its trial an attempt, and a second death the trial") {
    for (const auto kind : {FailureKind::crash, FailureKind::lost_worker}) {
        hpo::Failure failure;
        failure.kind = kind;
        hpo::Trial trial;
        trial.attempts.emplace_back().failure = failure;
        trial.attempts.back().plan = plan(64, 16);
        const hpo::History history{};
        const auto recover = [&] { return ShrinkMicroBatch{}.recover({trial, trial.attempts.back(), failure, history}); };
        const Recovery again = recover();
        CHECK(again.action == Recovery::Action::retry);
        CHECK(again.fresh_worker);
        CHECK(again.plan == plan(64, 16));
        trial.attempts.push_back(trial.attempts.back());
        CHECK(recover().action == Recovery::Action::fail);
    }
}

TEST_CASE("a minimum below 1 is refused") {
    CHECK_THROWS_WITH((ShrinkMicroBatch{{.min_micro_batch = 0}}), "min_micro_batch: got 0; expected 1 or more");
    CHECK_THROWS_WITH((ShrinkMicroBatch{{.max_retries = -1}}), "max_retries: got -1; expected 0 or more");
}
