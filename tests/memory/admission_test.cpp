// SPDX-License-Identifier: MIT
#include "hpo/memory/admission.hpp"

#include "hpo/memory/dry_run.hpp"
#include "hpo/memory/formula.hpp"
#include "support/catch.hpp"

using Answer = hpo::Admission::Answer;

namespace {

/// 100 bytes of weights, 10 for each example.
hpo::Admission admit(std::optional<std::int64_t> capacity, std::optional<std::int64_t> effective, std::int64_t least = 1) {
    hpo::Profile profile;
    profile.weight_bytes = 100;
    profile.activation_bytes_per_example = effective ? 10 : 0;
    const hpo::ParamSet params;
    hpo::ExecutionPlan plan;
    plan.effective_batch = effective;
    return hpo::admit(hpo::memory::Formula{{.margin = 0}}, {params, plan, &profile, capacity, hpo::History{}}, least);
}

}  // namespace

TEST_CASE("what fits runs as planned, to the last byte") {
    CHECK(admit(740, 64).answer == Answer::run);
    CHECK_FALSE(admit(740, 64).plan.micro_batch);
    CHECK(admit(std::nullopt, 1'000'000).answer == Answer::run);
}

TEST_CASE("what does not fit is halved until it does, and the effective batch stays") {
    const hpo::Admission admission = admit(739, 64);
    CHECK(admission.answer == Answer::shrink);
    CHECK(admission.plan.micro_batch == 32);
    CHECK(admission.plan.effective_batch == 64);
    CHECK(admission.plan.accumulation_steps() == 2);
    CHECK(admission.estimate.need == 420);
    CHECK(admit(150, 64).plan.micro_batch == 4);
    CHECK(admit(110, 50).plan.micro_batch == 1);
}

TEST_CASE("what fits at no micro-batch is refused, with the violation at the smallest") {
    const hpo::Admission admission = admit(100, 64);
    CHECK(admission.answer == Answer::infeasible);
    CHECK(admission.plan.micro_batch == 1);
    CHECK(admission.violation == Approx(110.0 / 100 - 1));
    CHECK(admission.reason == "predicted 110 bytes of 100 bytes at micro-batch 1 (formula)");
}

TEST_CASE("the smallest micro-batch allowed is respected") {
    CHECK(admit(150, 64, 3).plan.micro_batch == 4);
    const hpo::Admission admission = admit(120, 64, 3);
    CHECK(admission.answer == Answer::infeasible);
    CHECK(admission.plan.micro_batch == 3);
    CHECK(admission.violation == Approx(130.0 / 120 - 1));
}

TEST_CASE("a plan without a batch runs or is refused as it is") {
    CHECK(admit(100, std::nullopt).answer == Answer::run);
    const hpo::Admission admission = admit(50, std::nullopt);
    CHECK(admission.answer == Answer::infeasible);
    CHECK(admission.violation == Approx(1));
    CHECK(admission.reason == "predicted 100 bytes of 50 bytes (formula)");
}

TEST_CASE("a device of 0 bytes refuses with a finite violation") {
    CHECK(admit(0, 64).answer == Answer::infeasible);
    CHECK(admit(0, 64).violation == Approx(109));
}

TEST_CASE("evidence is fetched anew for each plan that is tried") {
    const hpo::ParamSet params;
    hpo::ExecutionPlan plan;
    plan.effective_batch = 64;
    std::vector<std::int64_t> asked;
    const auto predict = [&](const hpo::ExecutionPlan& tried) {
        asked.push_back(*tried.effective_micro_batch());
        hpo::MemoryEvidence evidence;
        evidence.prediction.emplace();
        evidence.prediction->need = evidence.prediction->comfort = asked.back() * asked.back();
        return evidence;
    };
    const hpo::Admission admission = hpo::admit(hpo::memory::DryRun{}, hpo::AdmissionQuery{params, plan, 400, hpo::History{}}, predict);
    CHECK(admission.answer == Answer::shrink);
    CHECK(admission.plan.micro_batch == 16);
    CHECK(admission.estimate.need == 256);
    CHECK(asked == std::vector<std::int64_t>{64, 32, 16});
}

TEST_CASE("activations are computed again only where no micro-batch is small enough, and then in as large a one as fits") {
    const hpo::ParamSet params;
    hpo::ExecutionPlan plan;
    plan.effective_batch = 64;
    const auto need = [](const hpo::ExecutionPlan& tried) {
        hpo::MemoryEvidence evidence;
        evidence.prediction.emplace();
        const std::int64_t micro = *tried.effective_micro_batch();
        evidence.prediction->need = evidence.prediction->comfort = 100 + micro * (tried.activation_checkpointing ? 3 : 100);
        return evidence;
    };
    const auto admit = [&](std::int64_t capacity, bool may_checkpoint) {
        const hpo::History history{};
        return hpo::admit(hpo::memory::DryRun{}, hpo::AdmissionQuery{params, plan, capacity, history, 1, may_checkpoint}, need);
    };
    CHECK(admit(200, true).plan.micro_batch == 1);
    CHECK_FALSE(admit(200, true).plan.activation_checkpointing);
    CHECK(admit(199, false).answer == Answer::infeasible);
    const hpo::Admission checkpointing = admit(199, true);
    CHECK(checkpointing.answer == Answer::shrink);
    CHECK(checkpointing.plan.activation_checkpointing);
    CHECK(checkpointing.plan.micro_batch == 32);
    CHECK(checkpointing.estimate.need == 196);
    const hpo::Admission refused = admit(102, true);
    CHECK(refused.answer == Answer::infeasible);
    CHECK(refused.violation == Approx(103.0 / 102 - 1));
    plan.activation_checkpointing = true;
    CHECK(admit(292, true).answer == Answer::run);
    CHECK(admit(102, true).plan.micro_batch == 1);
}
