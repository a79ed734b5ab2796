// SPDX-License-Identifier: MIT
#include <cstdint>
#include <vector>

#include "hpo/guard/unlimited.hpp"
#include "hpo/recovery/fail.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/tuner.hpp"
#include "support/catch.hpp"

using namespace hpo;

namespace {

/// Stops every trial that it is asked about.
struct Everything {
    [[nodiscard]] Verdict judge(const PruneQuery& standing) const {
        return {Verdict::Answer::prune, "step " + std::to_string(standing.step)};
    }
};
static_assert(Pruner<Everything>);

const Space judged_space = [](SpaceTrial& trial) { trial.suggest_float("x", 0, 1); };

template <class... Objective>
std::vector<Trial> all_judged(Objective... objective) {
    Tuner tuner{sampler::Random{}, Everything{}, guard::Unlimited{}, recovery::Fail{}};
    return tuner.optimize(store::InMemory{}, "s", objective..., {.trials = 4}).trials;
}

}  // namespace

TEST_CASE("a trial is not pruned at its last report: it has finished") {
    // One step, and three of which the first is not the last.
    for (const Trial& trial : all_judged(judged_space, [](tuner::RunningJob& job) {
             job.last_step(1);
             return job.report(1, 0.5) ? 0.5 : -1.0;
         })) {
        CHECK(trial.state == TrialState::complete);
        CHECK(trial.values == std::vector{0.5});
        CHECK(trial.intermediate.at(1) == 0.5);
        CHECK_FALSE(trial.user_attributes.contains("prune_reason"));
    }
    for (const Trial& trial : all_judged(judged_space, [](tuner::RunningJob& job) {
             job.last_step(3);
             for (std::int64_t step = 1; step <= 3; ++step) {
                 if (!job.report(step, 0.5)) return -1.0;
             }
             return 0.5;
         })) {
        CHECK(trial.state == TrialState::pruned);
        CHECK(trial.intermediate.size() == 1);
    }
    for (const Trial& trial : all_judged([](LiveTrial& live) {
             const double x = live.suggest_float("x", 0, 1);
             live.last_step(1);
             live.report(1, x);
             return live.should_prune() ? -1.0 : x;
         })) {
        CHECK(trial.state == TrialState::complete);
        CHECK(trial.values.at(0) >= 0);
    }
}

TEST_CASE("an objective that never asks whether to stop has run to its end, and one that asks is pruned") {
    for (const bool asks : {false, true}) {
        for (const Trial& trial : all_judged([asks](LiveTrial& live) {
                 const double x = live.suggest_float("x", 0, 1);
                 live.report(1, x);
                 if (asks && live.should_prune()) return -1.0;
                 return x;
             })) {
            CHECK(trial.state == (asks ? TrialState::pruned : TrialState::complete));
            CHECK(trial.attempts.at(0).outcome == (asks ? OutcomeKind::stopped : OutcomeKind::complete));
        }
    }
}

TEST_CASE("an executor whose attempt finishes although it was asked to stop has a complete trial") {
    struct Finisher final : Executor {
        [[nodiscard]] std::size_t free_slots() const override { return 1; }
        void submit(const Job& job, ExecutorEvents& events) override {
            events.on(job.trial, hpo::AttemptStarted{1});
            events.on(job.trial, hpo::Report{.step = 1, .value = 0.25});
            events.on(job.trial, hpo::AttemptOutcome{.kind = OutcomeKind::complete, .values = {0.25}});
        }
        void wait(ExecutorEvents&, double) override {}
        void interrupt() override {}
        [[nodiscard]] std::optional<std::int64_t> capacity_bytes() const override { return std::nullopt; }
    } executor;
    Tuner tuner{sampler::Random{}, Everything{}, guard::Unlimited{}, recovery::Fail{}};
    for (const Trial& trial : tuner.optimize(store::InMemory{}, "s", judged_space, executor, {.trials = 3}).trials) {
        CHECK(trial.state == TrialState::complete);
        CHECK(trial.values == std::vector{0.25});
    }
}
