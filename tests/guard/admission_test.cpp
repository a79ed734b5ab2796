// SPDX-License-Identifier: MIT
#include "hpo/guard/admission.hpp"

#include "hpo/guard/dry_run.hpp"
#include "hpo/guard/formula.hpp"
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
    return hpo::admit(hpo::guard::Formula{{.margin = 0}}, {params, plan, &profile, capacity, hpo::History{}}, least);
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
    const hpo::Admission admission = hpo::admit(hpo::guard::DryRun{}, hpo::AdmissionQuery{params, plan, 400, hpo::History{}}, predict);
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
        return hpo::admit(hpo::guard::DryRun{}, hpo::AdmissionQuery{params, plan, capacity, history, 1, may_checkpoint}, need);
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

TEST_CASE("what has to be shrunk leaves others their share of the device where up to two more halvings do, and else keeps the largest") {
    const hpo::ParamSet params;
    const hpo::History history{};
    hpo::ExecutionPlan plan;
    plan.effective_batch = 64;
    std::optional<std::int64_t> unknown_at;  // a micro-batch whose prediction fails
    std::vector<std::int64_t> asked;
    std::int64_t comfort = 0;  // beyond the need
    const auto admit = [&](std::int64_t weights, double share, std::int64_t least = 1) {
        asked.clear();
        return hpo::admit(hpo::guard::DryRun{}, hpo::AdmissionQuery{params, plan, 1000, history, least, false, {}, share},
                          [&](const hpo::ExecutionPlan& tried) {
                              hpo::MemoryEvidence evidence;
                              asked.push_back(*tried.effective_micro_batch());
                              if (unknown_at == asked.back()) return evidence;
                              evidence.prediction.emplace();
                              evidence.prediction->need = weights + 20 * asked.back();
                              evidence.prediction->comfort = evidence.prediction->need + comfort;
                              return evidence;
                          });
    };
    CHECK(admit(0, 1).plan.micro_batch == 32);  // 640
    CHECK(asked == std::vector<std::int64_t>{64, 32});
    const hpo::Admission half = admit(0, 0.5);
    CHECK(half.answer == Answer::shrink);
    CHECK(half.plan.micro_batch == 16);
    CHECK(half.plan.effective_batch == 64);
    CHECK(half.estimate.need == 320);
    CHECK(admit(0, 0.32).plan.micro_batch == 16);  // to the last byte
    CHECK(admit(0, 0.319).plan.micro_batch == 8);
    CHECK(admit(340, 0.5).plan.micro_batch == 8);  // 980, 660, 500
    const hpo::Admission heavy = admit(341, 0.5);  // 981, 661, 501
    CHECK(asked == std::vector<std::int64_t>{64, 32, 16, 8});
    CHECK(heavy.answer == Answer::shrink);
    CHECK(heavy.plan.micro_batch == 32);
    CHECK(heavy.estimate.need == 981);
    CHECK(admit(0, 0.2, 20).plan.micro_batch == 32);  // 20 is the least, and needs 400
    unknown_at = 16;
    CHECK(admit(0, 0.5).plan.micro_batch == 8);
    unknown_at = 8;
    CHECK(admit(340, 0.5).plan.micro_batch == 32);
    unknown_at = 32;
    CHECK(admit(0, 0.5).plan.micro_batch == 32);  // nobody knows what it needs
    CHECK(admit(0, 1).plan.micro_batch == 32);
    CHECK(asked == std::vector<std::int64_t>{64, 32});
    unknown_at.reset();
    comfort = 260;
    CHECK(admit(0, 0.5).plan.micro_batch == 8);  // 160 and 420, after 320 and 580
    comfort = 0;
    plan.micro_batch = 32;  // as it was asked for, it fits
    CHECK(admit(0, 0.5).answer == Answer::run);
    CHECK(admit(0, 0.5).plan.micro_batch == 32);
}
