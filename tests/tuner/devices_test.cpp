// SPDX-License-Identifier: MIT
#include "hpo/tuner/devices/devices.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "hpo/guard/formula.hpp"
#include "hpo/guard/unlimited.hpp"
#include "hpo/pruner/none.hpp"
#include "hpo/recovery/fail.hpp"
#include "hpo/recovery/shrink_micro_batch.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/tuner.hpp"
#include "hpo/tuner/study_event.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"

using namespace hpo;
using hpo::tests::mib;

namespace {

/// One device with slots. Ends its oldest job at each wait. `failure` says how a job fails.
class OneDevice final : public Executor {
public:
    OneDevice(std::int64_t capacity, std::size_t slots) : capacity_{capacity}, slots_{slots} {}

    std::function<std::optional<Failure>(const Job& job)> failure = [](const Job&) { return std::nullopt; };
    std::vector<Job> started;
    std::size_t most_at_once = 0;

    [[nodiscard]] std::size_t free_slots() const override { return slots_ - queue_.size(); }
    void submit(const Job& job, ExecutorEvents& events) override {
        events.on(job.trial, hpo::AttemptStarted{1000});
        queue_.push_back(job);
        started.push_back(job);
        most_at_once = std::max(most_at_once, queue_.size());
    }
    void wait(ExecutorEvents& events, double) override {
        if (queue_.empty()) return;
        const Job job = queue_.front();
        queue_.pop_front();
        AttemptOutcome outcome{.kind = OutcomeKind::complete, .values = {1.0}};
        if (auto failed = failure(job)) outcome = {.kind = OutcomeKind::failed, .failure = std::move(failed)};
        events.on(job.trial, outcome);
    }
    void interrupt() override {}
    [[nodiscard]] std::optional<std::int64_t> capacity_bytes() const override { return capacity_; }
    [[nodiscard]] MemoryEvidence evidence(const ParamSet& params, const ExecutionPlan&, Evidence) override {
        Profile profile;
        profile.weight_bytes = static_cast<std::int64_t>(params.number("size").value_or(0)) * mib;
        return {.profile = profile};
    }

private:
    std::int64_t capacity_;
    std::size_t slots_;
    std::deque<Job> queue_;
};

Failure broken_device() {
    return {.kind = FailureKind::hardware, .message = "CUDA error: uncorrectable ECC error encountered", .code = 214};
}

void one_float(SpaceTrial& trial) { (void)trial.suggest_float("x", 0, 1); }

struct Seen final : TuneObserver {
    std::vector<std::string> left_out;
    void on(const StudyEvent& event) override {
        if (const auto* const left = std::get_if<event::DeviceLeftOut>(&event)) left_out.push_back(left->device);
    }
};

template <MemoryGuard G, RecoveryPolicy R>
TuneResult tune(std::vector<TuneDevice> devices, const Space& space, G guard, R recovery, TuneOptions options, TuneObserver& seen) {
    store::InMemory store;
    Tuner tuner{sampler::Random{}, pruner::None{}, std::move(guard), std::move(recovery)};
    return tuner.optimize(store, "s", space, devices, options, seen);
}

std::map<std::string, int> ran_on(const std::vector<Trial>& trials) {
    std::map<std::string, int> counts;
    for (const Trial& trial : trials) {
        if (trial.state == TrialState::complete) ++counts[trial.attempts.back().plan.device];
    }
    return counts;
}

}  // namespace

TEST_CASE("trials of a run use all of its devices at once, and each attempt says which") {
    OneDevice first{100 * mib, 2};
    OneDevice second{100 * mib, 2};
    Seen seen;
    const auto result = tune({{"cpu:0", first}, {"cpu:1", second}}, one_float, guard::Unlimited{}, recovery::Fail{}, {.trials = 40}, seen);
    CHECK(ran_on(result.trials) == std::map<std::string, int>{{"cpu:0", 20}, {"cpu:1", 20}});
    CHECK(first.most_at_once == 2);
    CHECK(second.most_at_once == 2);
    for (const Job& job : second.started) CHECK(job.plan.device == "cpu:1");
}

TEST_CASE("a device that a run names twice, and none, are refused") {
    OneDevice device{100 * mib, 1};
    Seen seen;
    const std::string twice = "tuner: device 'cpu' twice; expected each device once";
    CHECK_THROWS_WITH(tune({{"cpu", device}, {"cpu", device}}, one_float, guard::Unlimited{}, recovery::Fail{}, {}, seen), twice);
    CHECK_THROWS_WITH(tune({}, one_float, guard::Unlimited{}, recovery::Fail{}, {}, seen), "tuner: no device; expected at least one");
}

TEST_CASE("what does not fit a small device runs on the larger one, and only what fits neither is refused") {
    OneDevice small{100 * mib, 2};
    OneDevice large{400 * mib, 1};
    Seen seen;
    const Space sizes = [](SpaceTrial& trial) { (void)trial.suggest_int("size", 1, 600); };
    const auto result = tune({{"cpu:0", small}, {"cpu:1", large}}, sizes, guard::Formula{}, recovery::Fail{}, {.trials = 60}, seen);
    std::set<std::string> devices;
    for (const Trial& trial : result.trials) {
        REQUIRE(trial.state == TrialState::complete);
        const Attempt& attempt = trial.attempts.back();
        REQUIRE(attempt.estimate);
        REQUIRE(attempt.estimate->need);
        CHECK(*attempt.estimate->need <= attempt.capacity_bytes);
        if (*attempt.estimate->need > 100 * mib) CHECK(attempt.plan.device == "cpu:1");
        devices.insert(attempt.plan.device);
    }
    CHECK(devices.size() == 2);
}

TEST_CASE("a trial that met a fault of its device ends well on another, which takes over while the first is left out") {
    OneDevice broken{100 * mib, 1};
    OneDevice good{100 * mib, 1};
    broken.failure = [](const Job&) { return broken_device(); };
    Seen seen;
    const auto result =
        tune({{"cpu:0", broken}, {"cpu:1", good}}, one_float, guard::Unlimited{}, recovery::ShrinkMicroBatch{}, {.trials = 30}, seen);
    CHECK(ran_on(result.trials) == std::map<std::string, int>{{"cpu:1", 30}});
    CHECK(broken.started.size() == tuner::DeviceHealth::most_in_a_row);
    CHECK(seen.left_out == std::vector<std::string>{"cpu:0"});
    int moved = 0;
    for (const Trial& trial : result.trials) {
        if (trial.attempts.size() < 2) continue;
        ++moved;
        CHECK(trial.attempts.front().decision == "other_device: a fault of cpu:0: retry on another device");
        CHECK(trial.attempts.back().plan.device == "cpu:1");
    }
    CHECK(moved == 3);
}

TEST_CASE("faults that attempts between succeed past, and the trial's own faults, leave no device out") {
    OneDevice first{100 * mib, 1};
    OneDevice second{100 * mib, 1};
    first.failure = [](const Job& job) { return job.trial % 4 == 0 ? std::optional{broken_device()} : std::nullopt; };
    second.failure = [](const Job&) { return Failure{.kind = FailureKind::trainer_error, .message = "own"}; };
    Seen seen;
    const auto result =
        tune({{"cpu:0", first}, {"cpu:1", second}}, one_float, guard::Unlimited{}, recovery::Fail{}, {.trials = 40, .breaker = 0}, seen);
    CHECK(seen.left_out.empty());
    CHECK(second.started.size() > 10);
}

TEST_CASE("a fallback is used only once no other device works, and if nothing works the breaker ends the run") {
    OneDevice card{100 * mib, 1};
    OneDevice fallback{100 * mib, 1};
    Seen seen;
    const auto both = [&] { return std::vector<TuneDevice>{{"cuda:0", card}, {.name = "cpu", .executor = fallback, .is_fallback = true}}; };
    CHECK(ran_on(tune(both(), one_float, guard::Unlimited{}, recovery::ShrinkMicroBatch{}, {.trials = 10}, seen).trials) ==
          std::map<std::string, int>{{"cuda:0", 10}});
    card.failure = [](const Job&) { return broken_device(); };
    const auto fallen = tune(both(), one_float, guard::Unlimited{}, recovery::ShrinkMicroBatch{}, {.trials = 10}, seen);
    CHECK(ran_on(fallen.trials)["cpu"] >= 8);
    CHECK(seen.left_out == std::vector<std::string>{"cuda:0"});
    fallback.failure = card.failure;
    const auto broken = tune(both(), one_float, guard::Unlimited{}, recovery::ShrinkMicroBatch{}, {.trials = 100}, seen);
    REQUIRE(broken.broken);
    CHECK(broken.broken->failures == 10);
}

TEST_CASE("a device is left out longer each time, and a success makes it whole") {
    tuner::DeviceHealth health;
    Attempt failed;
    failed.failure = broken_device();
    CHECK_FALSE(health.see(failed));
    CHECK_FALSE(health.see(failed));
    CHECK(health.see(failed));
    CHECK_FALSE(health.works());
    CHECK(health.pause_seconds() == 60);
    CHECK_FALSE(health.see(failed));     // of an attempt that already ran
    CHECK_FALSE(health.see(Attempt{}));  // it was interrupted
    CHECK_FALSE(health.works());
    CHECK_FALSE(health.see(Attempt{.outcome = OutcomeKind::complete}));
    CHECK(health.works());
}
