// SPDX-License-Identifier: MIT
#include <algorithm>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hpo/guard/unlimited.hpp"
#include "hpo/pruner/none.hpp"
#include "hpo/recovery/fail.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/tuner.hpp"
#include "hpo/tuner/study_event.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"

using namespace hpo;
using hpo::tests::mib;

namespace {

/// Ends the oldest job at each wait. `fails` says which attempts run out of memory, and why.
class Scripted final : public Executor {
public:
    std::size_t slots = 3;
    std::function<std::optional<OomCause>(std::int64_t trial, int attempt)> fails = [](std::int64_t, int) { return std::nullopt; };
    std::function<std::optional<std::int64_t>()> free = [] { return std::nullopt; };
    std::vector<std::set<std::int64_t>> together;  ///< the trials that ran at each start
    std::vector<std::int64_t> started;             ///< trials, in order

    [[nodiscard]] std::size_t free_slots() const override { return slots - queue_.size(); }
    void submit(const Job& job, ExecutorEvents& events) override {
        events.on(job.trial, hpo::AttemptStarted{1000});
        queue_.push_back(job);
        started.push_back(job.trial);
        together.emplace_back();
        for (const Job& each : queue_) together.back().insert(each.trial);
    }
    void wait(ExecutorEvents& events, double timeout_seconds) override {
        if (queue_.empty()) return sleep_seconds(std::min(timeout_seconds, 0.01));
        const Job job = queue_.front();
        queue_.pop_front();
        AttemptOutcome outcome{.kind = OutcomeKind::complete, .values = {1.0}};
        if (const auto cause = fails(job.trial, job.attempt)) {
            Failure failure{.kind = FailureKind::out_of_memory, .message = "out of memory", .cause = cause};
            failure.requested_bytes = (cause == OomCause::capacity ? 200 : 10) * mib;
            failure.memory.allocated = 30 * mib;
            if (cause == OomCause::neighbour) failure.memory.neighbours = {{.pid = 1, .bytes = 65 * mib}};
            outcome = {.kind = OutcomeKind::failed, .failure = failure};
        }
        events.on(job.trial, outcome);
    }
    void interrupt() override {}
    [[nodiscard]] std::optional<std::int64_t> capacity_bytes() const override { return 100 * mib; }
    [[nodiscard]] std::optional<std::int64_t> free_now() override { return free(); }

private:
    std::deque<Job> queue_;
};

/// Answers with a retry that a test makes.
struct Retries {
    std::function<void(Recovery&)> change;
    [[nodiscard]] Recovery recover(const FailedAttempt& failed) const {
        Recovery recovery{.action = Recovery::Action::retry, .plan = failed.attempt.plan, .reason = "again"};
        change(recovery);
        return recovery;
    }
};

struct Notes final : TuneObserver {
    std::vector<std::string> all;
    std::vector<std::pair<std::size_t, double>> waits;
    void on(const StudyEvent& event) override {
        if (const auto* const noted = std::get_if<event::RetryNoted>(&event)) all.push_back(noted->what);
        if (const auto* const wait = std::get_if<event::AllWait>(&event)) waits.emplace_back(wait->trials, wait->seconds);
    }
};

const Space line = [](SpaceTrial& trial) { trial.suggest_float("x", 0, 1); };

struct Ran {
    TuneResult result;
    Notes notes;
};
Ran run(Scripted& executor, const std::function<void(Recovery&)>& change, std::int64_t trials) {
    Ran ran;
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, Retries{change}};
    store::InMemory store;
    ran.result = tuner.optimize(store, "s", line, executor, {.trials = trials}, ran.notes);
    return ran;
}

std::optional<OomCause> first_of_trial_0(std::int64_t trial, int attempt) {
    return trial == 0 && attempt == 0 ? std::optional{OomCause::neighbour} : std::nullopt;
}

}  // namespace

TEST_CASE("a retry that waits starts when as much of the device is free as the attempt is known to require") {
    Scripted executor;
    executor.fails = first_of_trial_0;
    int looks = 0;
    std::vector<std::size_t> started_before;
    executor.free = [&] {
        started_before.push_back(executor.started.size());
        return ++looks < 5 ? 39 * mib : 40 * mib;
    };
    const Ran ran = run(
        executor, [](Recovery& retry) { retry.wait_seconds = 60; }, 3);
    CHECK(looks == 5);
    CHECK(ran.result.trials.at(0).state == TrialState::complete);
    CHECK(ran.result.trials.at(0).attempts.size() == 2);
    CHECK(executor.started == std::vector<std::int64_t>{0, 1, 2, 0});
    CHECK(ran.notes.all.empty());
}

TEST_CASE("a retry that waits looks at the device no more often than its interval says") {
    Scripted executor;
    executor.fails = first_of_trial_0;
    int looks = 0;
    executor.free = [&] {
        ++looks;
        return mib;
    };
    // The time is up long before the interval is. So it looks when it begins to wait, and when it starts in vain.
    const Ran ran = run(
        executor,
        [](Recovery& retry) {
            retry.wait_seconds = 0.5;
            retry.wait_interval_seconds = 1000;
        },
        1);
    CHECK(looks <= 2);
    CHECK(ran.result.trials.at(0).state == TrialState::complete);
}

TEST_CASE("a retry with a pause starts after it, and others run meanwhile") {
    Scripted executor;
    executor.slots = 1;
    executor.fails = first_of_trial_0;
    const Stopwatch all;
    const Ran ran = run(
        executor, [](Recovery& retry) { retry.pause_seconds = 2; }, 3);
    CHECK(all.seconds() >= 2);
    CHECK(executor.started == std::vector<std::int64_t>{0, 1, 2, 0});
    CHECK(ran.result.trials.at(0).state == TrialState::complete);
    CHECK(ran.notes.all.empty());
    REQUIRE(ran.notes.waits.size() == 1);
    CHECK(ran.notes.waits.front().first == 1);
    CHECK(ran.notes.waits.front().second <= 2);
}

TEST_CASE("a retry waits for memory after its pause, not in it") {
    Scripted executor;
    executor.fails = first_of_trial_0;
    std::vector<double> looks;
    const Stopwatch all;
    executor.free = [&] {
        looks.push_back(all.seconds());
        return 90 * mib;
    };
    run(
        executor,
        [](Recovery& retry) {
            retry.pause_seconds = 0.2;
            retry.wait_seconds = 60;
        },
        1);
    REQUIRE(looks.size() == 1);
    CHECK(looks.front() >= 0.2);
    CHECK(all.seconds() < 60);
}

TEST_CASE("other trials begin while a retry waits for memory, also with one worker") {
    Scripted executor;
    executor.slots = 1;
    executor.fails = [](std::int64_t trial, int attempt) {
        return trial % 2 == 0 && attempt == 0 ? std::optional{OomCause::neighbour} : std::nullopt;
    };
    executor.free = [&] { return executor.started.size() < 6 ? mib : 90 * mib; };
    const Ran ran = run(
        executor, [](Recovery& retry) { retry.wait_seconds = 60; }, 6);
    CHECK(executor.started == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 0, 2, 4});
    CHECK(std::ranges::all_of(ran.result.trials, [](const Trial& trial) { return trial.state == TrialState::complete; }));
    CHECK(ran.notes.all.empty());
}

TEST_CASE("no further trials begin if one more attempt waits for memory than there are workers, and none ended well") {
    for (const std::size_t slots : {1, 3}) {
        Scripted executor;
        executor.slots = slots;
        int looks = 0;
        std::set<std::int64_t> begun;
        executor.fails = [&](std::int64_t trial, int) {
            if (looks < 100) begun.insert(trial);
            return looks < 100 ? std::optional{OomCause::neighbour} : std::nullopt;
        };
        executor.free = [&] { return ++looks < 100 ? mib : 90 * mib; };
        const Ran ran = run(
            executor, [](Recovery& retry) { retry.wait_seconds = 60; }, 30);
        CHECK(begun.size() == 2 * slots);
        CHECK(std::ranges::all_of(ran.result.trials, [](const Trial& trial) { return trial.state == TrialState::complete; }));
        CHECK(ran.result.trials.size() == 30);
    }
}

TEST_CASE("it is told once that nothing runs because all that has begun waits") {
    Scripted executor;
    executor.fails = first_of_trial_0;
    int looks = 0;
    executor.free = [&] { return ++looks < 50 ? mib : 40 * mib; };
    const Ran ran = run(
        executor, [](Recovery& retry) { retry.wait_seconds = 60; }, 3);
    CHECK(executor.started == std::vector<std::int64_t>{0, 1, 2, 0});
    REQUIRE(ran.notes.waits.size() == 1);  // not while the trials 1 and 2 run
    CHECK(ran.notes.waits[0].first == 1);
    CHECK((ran.notes.waits[0].second > 0 && ran.notes.waits[0].second <= 60));
}

TEST_CASE("a retry that has waited in vain starts without, and a note says so") {
    Scripted executor;
    executor.fails = first_of_trial_0;
    executor.free = [] { return mib; };
    const Ran ran = run(
        executor, [](Recovery& retry) { retry.wait_seconds = 0.05; }, 1);
    CHECK(ran.result.trials.at(0).state == TrialState::complete);
    REQUIRE(ran.notes.all.size() == 1);
    CHECK_THAT(ran.notes.all[0], Catch::StartsWith("too little of the device became free in 0.05 s"));
}

TEST_CASE("a retry does not wait if nobody knows what is free, or if it does not ask to wait") {
    for (const bool waits : {true, false}) {
        Scripted executor;
        executor.fails = first_of_trial_0;
        if (!waits) executor.free = [] { return std::int64_t{0}; };
        const Ran ran = run(
            executor, [&](Recovery& retry) { retry.wait_seconds = waits ? std::optional{1000.0} : std::nullopt; }, 1);
        CHECK(ran.result.trials.at(0).state == TrialState::complete);
        CHECK(ran.notes.all.empty());
    }
}

TEST_CASE("a study that is stopped while a retry waits ends") {
    Scripted executor;
    executor.fails = first_of_trial_0;
    bool stop = false;
    executor.free = [&] {
        stop = true;
        return mib;
    };
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, Retries{[](Recovery& retry) { retry.wait_seconds = 1000; }}};
    store::InMemory store;
    const TuneResult result = tuner.optimize(store, "s", line, executor, {.trials = 1, .stop_requested = [&] { return stop; }});
    CHECK(result.interrupted);
    CHECK(is_marked_lost(result.trials.at(0)));
}

TEST_CASE("a retry that shall be alone starts when no other attempt runs, and none is started beside it") {
    Scripted executor;
    executor.fails = first_of_trial_0;
    const Ran ran = run(
        executor, [](Recovery& retry) { retry.alone = true; }, 12);
    CHECK(std::all_of(ran.result.trials.begin(), ran.result.trials.end(),
                      [](const Trial& trial) { return trial.state == TrialState::complete; }));
    std::size_t with_0 = 0;
    for (std::size_t i = 0; i < executor.started.size(); ++i) {
        if (executor.started[i] != 0 || ++with_0 != 2) continue;
        CHECK(executor.together[i] == std::set<std::int64_t>{0});
        CHECK(i <= 4);  // it is not put off by trials that go on beginning
        REQUIRE(i + 1 < executor.together.size());
        CHECK_FALSE(executor.together[i + 1].contains(0));
    }
    CHECK(with_0 == 2);
    CHECK(std::any_of(executor.together.begin() + 5, executor.together.end(), [](const auto& running) { return running.size() == 3; }));
}

TEST_CASE("a retry that shall be alone and has waited is not put off by trials that go on beginning") {
    Scripted executor;
    executor.fails = first_of_trial_0;
    executor.free = [] { return mib; };
    const Ran ran = run(
        executor,
        [](Recovery& retry) {
            retry.alone = true;
            retry.wait_seconds = 0;
        },
        12);
    const auto again = std::ranges::find(executor.started.begin() + 1, executor.started.end(), 0);
    REQUIRE(again != executor.started.end());
    CHECK(again - executor.started.begin() <= 4);
    CHECK(executor.together[static_cast<std::size_t>(again - executor.started.begin())] == std::set<std::int64_t>{0});
    CHECK(ran.result.trials.size() == 12);
}

namespace {

/// Grants what other programs leave of a device: 60 MiB.
struct Leaves final : Reservations {
    std::vector<std::int64_t> granted;
    std::optional<std::int64_t> reserve(const ReservationRequest& request) override {
        if (request.need_bytes > 60 * mib) return std::nullopt;
        granted.push_back(request.need_bytes);
        return request.need_bytes;
    }
    void release(std::int64_t) override {}
};

}  // namespace

TEST_CASE("a retry that shall be alone takes what other programs leave of the device") {
    Scripted executor;
    executor.fails = first_of_trial_0;
    executor.free = [] { return 60 * mib; };
    Leaves reservations;
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, Retries{[](Recovery& retry) { retry.alone = true; }}};
    store::InMemory store;
    const TuneResult result = tuner.optimize(store, "s", line, executor, {.trials = 2, .reservations = &reservations});
    CHECK(result.trials.at(0).state == TrialState::complete);
    CHECK(reservations.granted == std::vector{60 * mib});
}

TEST_CASE("failures by other processes make no trial infeasible, even if the last of many has another cause") {
    for (const int own : {1, 11}) {
        Scripted executor;
        executor.fails = [&](std::int64_t, int attempt) { return attempt >= 20 - own ? OomCause::capacity : OomCause::neighbour; };
        const Ran ran = run(
            executor, [](Recovery&) {}, 1);
        const Trial& trial = ran.result.trials.at(0);
        CHECK(trial.attempts.size() == 20);
        CHECK(trial.attempts.back().decision == "given up after 20 attempts; a retry was asked for: again");
        CHECK(trial.feasible() == (own == 1));
        CHECK(trial.state == (own == 1 ? TrialState::fail : TrialState::pruned));
    }
}

TEST_CASE("what a policy notes of its answer is told once") {
    Scripted executor;
    executor.fails = [](std::int64_t, int attempt) { return attempt < 2 ? std::optional{OomCause::neighbour} : std::nullopt; };
    const Ran ran = run(
        executor, [](Recovery& retry) { retry.note = "s.lua:3: on_oom"; }, 4);
    CHECK(ran.notes.all == std::vector<std::string>{"s.lua:3: on_oom"});
}
