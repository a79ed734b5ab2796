// SPDX-License-Identifier: MIT
#include "hpo/tuner/replays.hpp"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hpo/guard/unlimited.hpp"
#include "hpo/pruner/none.hpp"
#include "hpo/recovery/ladder.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/tuner.hpp"
#include "hpo/tuner/study_event.hpp"
#include "support/catch.hpp"

using namespace hpo;
using Catch::Contains;

namespace {

/// Two slots on a device where every third trial meets a sticky error. Ends its oldest job at each wait.
class StickyDevice final : public Executor {
public:
    std::vector<Job> started;
    std::vector<std::string> messages{"device-side assert triggered"};  ///< of the failures, in turn
    bool can_block = true;

    [[nodiscard]] std::size_t free_slots() const override { return 2 - queue_.size(); }
    void submit(const Job& job, ExecutorEvents& events) override {
        events.on(job.trial, hpo::AttemptStarted{1000});
        queue_.push_back(job);
        started.push_back(job);
    }
    void wait(ExecutorEvents& events, double) override {
        if (queue_.empty()) return;
        const Job job = queue_.front();
        queue_.pop_front();
        events.on(job.trial, hpo::Report{.step = 1, .value = 1});
        events.on(job.trial, hpo::MemoryMark{.name = "end", .seconds = 0, .step = std::nullopt, .reading = {}});
        events.on(job.trial, hpo::Checkpoint{1});
        AttemptOutcome outcome{.kind = OutcomeKind::complete, .values = {1.0}};
        if (job.blocks_launches || job.trial % 3 == 0) {
            const std::string& message = messages[static_cast<std::size_t>(std::abs(job.trial) / 3) % messages.size()];
            outcome = {.kind = OutcomeKind::failed,
                       .failure = Failure{.kind = FailureKind::cuda_sticky,
                                          .message = job.blocks_launches ? message + " in gather_kernel" : message}};
            outcome.log = job.blocks_launches ? "at model.cpp:7\n" : "an earlier line";
        }
        events.on(job.trial, outcome);
    }
    void interrupt() override {}
    [[nodiscard]] std::optional<std::int64_t> capacity_bytes() const override { return std::nullopt; }
    [[nodiscard]] bool can_block_launches() const override { return can_block; }

private:
    std::deque<Job> queue_;
};

struct Told final : TuneObserver {
    std::vector<std::pair<std::int64_t, std::string>> replayed_trials;
    void on(const StudyEvent& event) override {
        if (const auto* const replayed = std::get_if<event::TrialReplayed>(&event))
            replayed_trials.emplace_back(replayed->trial.number, replayed->told);
    }
};

TuneResult run_on(StickyDevice& device, store::InMemory& store, Told& told, std::int64_t trials) {
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Ladder<recovery::Prune>{}};
    const Space space = [](SpaceTrial& trial) { (void)trial.suggest_float("x", 0, 1); };
    return tuner.optimize(store, "s", space, device, {.trials = trials, .breaker = 0}, told);
}

std::size_t replays(const StickyDevice& device) {
    return static_cast<std::size_t>(std::ranges::count(device.started, true, &Job::blocks_launches));
}

}  // namespace

TEST_CASE("a sticky error is met once more with blocking launches, and the log of its attempt names the kernel") {
    StickyDevice device;
    store::InMemory store;
    Told told;
    const TuneResult result = run_on(device, store, told, 20);
    CHECK(result.trials.size() == 20);
    CHECK(replays(device) == 1);  // the failures are equal
    REQUIRE(told.replayed_trials.size() == 1);
    CHECK(told.replayed_trials[0].first == 0);
    CHECK_THAT(told.replayed_trials[0].second, Contains("in gather_kernel"));
    const std::string log = store.log(result.trials[0], 0);
    CHECK(
        log ==
        "an earlier line\n--- once more, with kernel launches that block: device-side assert triggered in gather_kernel\nat model.cpp:7\n");
    for (const Trial& trial : result.trials) {
        CHECK(trial.attempts.size() == 1);  // a replay is no attempt
        CHECK((trial.state == TrialState::complete) == (trial.number % 3 != 0));
    }
    const auto replay = std::ranges::find(device.started, true, &Job::blocks_launches);
    CHECK(replay->fresh_worker);
    CHECK(replay->params == device.started[0].params);
    CHECK(replay->seed == device.started[0].seed);
}

TEST_CASE("each signature of sticky errors is replayed once, also if it ends the last trial, and an executor that cannot is not asked") {
    StickyDevice device;
    device.messages = {"device-side assert triggered", "an illegal memory access was encountered"};
    store::InMemory store;
    Told told;
    (void)run_on(device, store, told, 4);
    CHECK(replays(device) == 2);
    CHECK(told.replayed_trials.size() == 2);
    StickyDevice other;
    other.can_block = false;
    (void)run_on(other, store, told, 10);
    CHECK(replays(other) == 0);
}
