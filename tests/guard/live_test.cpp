// SPDX-License-Identifier: MIT
#include "hpo/guard/live.hpp"

#include "hpo/base/error.hpp"
#include "hpo/guard/admission.hpp"
#include "support/catch.hpp"

using Answer = hpo::Admission::Answer;
using hpo::guard::Live;

namespace {

hpo::MemoryReading left(std::int64_t free, std::int64_t capacity) {
    hpo::MemoryReading reading;
    reading.free = free;
    reading.capacity = capacity;
    return reading;
}

/// 100 bytes of weights, 10 for each of 64 examples: 740 bytes, at least 110.
hpo::Admission admitted(std::optional<std::int64_t> capacity, std::optional<hpo::MemoryReading> device, const std::string& base = "dry_run",
                        bool may_checkpoint = false) {
    const hpo::ParamSet params;
    hpo::ExecutionPlan plan;
    plan.effective_batch = 64;
    const hpo::History history{};
    return hpo::admit(Live{{.base = base}}, hpo::AdmissionQuery{params, plan, capacity, history, 1, may_checkpoint},
                      [&](const hpo::ExecutionPlan& tried) {
                          hpo::MemoryEvidence known;
                          known.prediction.emplace();
                          known.prediction->need = known.prediction->comfort =
                              100 + (tried.activation_checkpointing ? 1 : 10) * tried.effective_micro_batch().value();
                          known.device = device;
                          return known;
                      });
}

}  // namespace

TEST_CASE("live predicts as its base does") {
    const hpo::ParamSet params;
    const hpo::ExecutionPlan plan;
    hpo::PeakPrediction prediction;
    prediction.need = prediction.comfort = 1000;
    prediction.uncertainty = 0.5;
    const hpo::MemoryQuery query{params, plan, nullptr, 5000, hpo::History{}, &prediction};
    CHECK(Live{{.base = "dry_run"}}.estimate(query).need == hpo::guard::DryRun{}.estimate(query).need);
    CHECK(Live{{.base = "calibrated"}}.estimate(query).need == hpo::guard::Calibrated{}.estimate(query).need);
    CHECK(Live{{.base = "calibrated", .risk = 0.2}}.estimate(query).need == hpo::guard::Calibrated{{.risk = 0.2}}.estimate(query).need);
    CHECK(Live{{.base = "formula"}}.evidence() == hpo::Evidence::shape);
    CHECK(Live{{.base = "virtual_card"}}.evidence() == hpo::Evidence::virtual_card);
    CHECK(Live{{.base = "probe"}}.evidence() == hpo::Evidence::probe);
    CHECK(Live{}.evidence() == hpo::Evidence::dry_run);
    CHECK(Live{}.carries());
    CHECK_FALSE(Live{{.base = "dry_run"}}.carries());
    CHECK(hpo::looks(Live{}));
    CHECK_FALSE(hpo::looks(hpo::guard::DryRun{}));
    CHECK_THROWS_WITH((Live{{.base = "limit"}}),
                      Catch::Contains("'limit'") && Catch::Contains("calibrated, virtual_card, dry_run, probe or formula"));
    CHECK_THROWS_AS((Live{{.risk = 2}}), hpo::Error);
}

TEST_CASE("the room for an attempt is what others leave now, and nothing where nobody looked") {
    const hpo::ParamSet params;
    const hpo::ExecutionPlan plan;
    const auto device = left(600, 5000);
    const hpo::History history{};
    const Live guard;
    CHECK(guard.room({.params = params, .plan = plan, .capacity_bytes = 5000, .history = history, .device = &device}) == 600);
    CHECK_FALSE(guard.room({.params = params, .plan = plan, .capacity_bytes = 5000, .history = history}));
    const auto over = left(-5, 5000);  // more is used than there is
    CHECK(guard.room({.params = params, .plan = plan, .history = history, .device = &over}) == 0);
}

TEST_CASE("a plan that others leave no room for is shrunk, then waits, and is refused only by the device's size") {
    CHECK(admitted(1000, left(740, 1000)).answer == Answer::run);
    const auto shrunk = admitted(1000, left(739, 1000));
    CHECK(shrunk.answer == Answer::shrink);
    CHECK(shrunk.plan.micro_batch == 32);
    CHECK(shrunk.plan.effective_batch == 64);
    const auto waiting = admitted(1000, left(50, 1000));
    CHECK(waiting.answer == Answer::wait);
    CHECK(waiting.plan.micro_batch == 1);
    CHECK(waiting.estimate.need == 110);
    CHECK(waiting.violation == 0);
    CHECK(waiting.room_bytes == 50);
    const auto refused = admitted(109, left(50, 109));
    CHECK(refused.answer == Answer::infeasible);
    CHECK(refused.violation > 0);
    CHECK(admitted(1000, left(0, 1000)).answer == Answer::wait);
    CHECK(admitted(1000, std::nullopt).answer == Answer::run);
}

TEST_CASE("checkpointing is turned on before an attempt waits") {
    const auto admission = admitted(1000, left(105, 1000), "dry_run", true);
    CHECK(admission.answer == Answer::shrink);
    CHECK(admission.plan.activation_checkpointing);
    CHECK(admission.plan.micro_batch == 4);
}

TEST_CASE("without a budget the device's own capacity decides what is refused") {
    CHECK(admitted(std::nullopt, left(740, 2000)).answer == Answer::run);
    CHECK(admitted(std::nullopt, left(90, 2000)).answer == Answer::wait);
    CHECK(admitted(std::nullopt, left(90, 100)).answer == Answer::infeasible);
}

TEST_CASE("a guard that does not look is not held to what others leave") {
    const hpo::ParamSet params;
    hpo::ExecutionPlan plan;
    plan.effective_batch = 64;
    hpo::PeakPrediction prediction;
    prediction.need = prediction.comfort = 700;
    const auto device = left(10, 1000);
    const hpo::History history{};
    CHECK(hpo::admit(
              hpo::guard::DryRun{},
              hpo::MemoryQuery{
                  .params = params, .plan = plan, .capacity_bytes = 1000, .history = history, .prediction = &prediction, .device = &device})
              .answer == Answer::run);
}
