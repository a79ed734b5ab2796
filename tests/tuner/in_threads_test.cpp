// SPDX-License-Identifier: MIT
#include "hpo/tuner/in_threads.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "hpo/guard/unlimited.hpp"
#include "hpo/pruner/none.hpp"
#include "hpo/recovery/fail.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/tuner.hpp"
#include "hpo/tuner/study_event.hpp"
#include "support/catch.hpp"
#include "support/listener.hpp"

using namespace hpo;

namespace {

const Space one_number = [](SpaceTrial& trial) { trial.suggest_float("x", 0, 1); };

double x_of(const tuner::RunningJob& job) { return *job.params().number("x"); }

/// Lets nobody on until `wanted` are there; false: they did not come within a minute.
class Meeting {
public:
    explicit Meeting(int wanted) : wanted_{wanted} {}
    bool arrive() {
        std::unique_lock lock{mutex_};
        ++here_;
        all_here_.notify_all();
        return all_here_.wait_for(lock, std::chrono::minutes{1}, [&] { return here_ >= wanted_; });
    }

private:
    int wanted_;
    int here_ = 0;
    std::mutex mutex_;
    std::condition_variable all_here_;
};

/// Prunes where the latest value is above a half.
struct AboveAHalf {
    [[nodiscard]] Verdict judge(const PruneQuery& standing) const {
        if (standing.trial.intermediate.rbegin()->second > 0.5) return {Verdict::Answer::prune, "above a half"};
        return {};
    }
};

template <class P = pruner::None>
auto tuner_with(P pruner = {}) {
    return Tuner{sampler::Random{}, std::move(pruner), guard::Unlimited{}, recovery::Fail{}};
}

}  // namespace

TEST_CASE("as many trials run at once in threads as there are slots") {
    Meeting meeting{4};
    tuner::InThreads threads{4, [&](tuner::RunningJob& job) {
                                 if (!meeting.arrive()) throw std::runtime_error{"alone"};
                                 return x_of(job);
                             }};
    CHECK(threads.free_slots() == 4);
    store::InMemory store;
    const TuneResult result = tuner_with().optimize(store, "s", one_number, threads, {.trials = 12});
    REQUIRE(result.trials.size() == 12);
    for (const Trial& trial : result.trials) {
        CHECK(trial.state == TrialState::complete);
        CHECK(trial.values == std::vector{*trial.params.number("x")});
    }
    CHECK(threads.free_slots() == 4);
}

TEST_CASE("trials in threads draw the same parameters as one after the other") {
    const auto drawn = [](std::size_t slots) {
        tuner::InThreads threads{slots, [](tuner::RunningJob& job) { return x_of(job); }};
        store::InMemory store;
        std::map<std::int64_t, double> by_number;
        for (const Trial& trial : tuner_with().optimize(store, "s", one_number, threads, {.trials = 20, .seed = 7}).trials)
            by_number[trial.number] = trial.values.at(0);
        return by_number;
    };
    CHECK(drawn(1) == drawn(5));
}

TEST_CASE("reports of trials in threads are judged on the tuner's thread, and prune") {
    std::set<std::thread::id> reporting_threads;
    test::Listener observer{[&](const event::Reported&) { reporting_threads.insert(std::this_thread::get_id()); }};
    tuner::InThreads threads{3, [](tuner::RunningJob& job) {
                                 for (int step = 1; step <= 5; ++step) {
                                     if (!job.report(step, x_of(job))) return 0.0;
                                 }
                                 return x_of(job);
                             }};
    store::InMemory store;
    const TuneResult result = tuner_with(AboveAHalf{}).optimize(store, "s", one_number, threads, {.trials = 30}, observer);
    CHECK(reporting_threads == std::set{std::this_thread::get_id()});
    std::set<TrialState> states;
    for (const Trial& trial : result.trials) {
        states.insert(trial.state);
        const bool pruned = *trial.params.number("x") > 0.5;
        CHECK(trial.state == (pruned ? TrialState::pruned : TrialState::complete));
        CHECK(trial.intermediate.size() == (pruned ? 1 : 5));
    }
    CHECK(states.size() == 2);
}

TEST_CASE("what a trial function in a thread throws fails its trial alone") {
    tuner::InThreads threads{2, [](tuner::RunningJob& job) {
                                 if (job.number() == 3) throw std::runtime_error{"no third"};
                                 if (job.number() == 4) throw 4;
                                 return std::vector{x_of(job)};
                             }};
    store::InMemory store;
    const TuneResult result = tuner_with().optimize(store, "s", one_number, threads, {.trials = 6});
    for (const Trial& trial : result.trials)
        CHECK(trial.state == (trial.number == 3 || trial.number == 4 ? TrialState::fail : TrialState::complete));
    CHECK(result.trials.at(3).attempts.at(0).failure->message == "no third");
}

TEST_CASE("a stop interrupts trials in threads at their next report, and one that ends by itself counts") {
    Meeting meeting{3};
    std::atomic<bool> stop = false;
    tuner::InThreads threads{3, [&](tuner::RunningJob& job) {
                                 if (!meeting.arrive()) throw std::runtime_error{"alone"};
                                 stop = true;
                                 if (job.number() == 0) return x_of(job);
                                 for (std::int64_t step = 0; job.report(step, 0); ++step) {
                                 }
                                 return 1.0;
                             }};
    store::InMemory store;
    const TuneResult result =
        tuner_with().optimize(store, "s", one_number, threads, {.trials = 3, .stop_requested = [&] { return stop.load(); }});
    CHECK(result.interrupted);
    REQUIRE(result.trials.size() == 3);
    CHECK(result.trials[0].state == TrialState::complete);
    for (const std::size_t cut_short : {1U, 2U}) {
        CHECK(result.trials[cut_short].user_attributes.contains(lost_attribute));
        CHECK(result.trials[cut_short].attempts.at(0).outcome == OutcomeKind::interrupted);
    }
}

TEST_CASE("what an observer throws ends the run, and the trials in threads with it") {
    test::Listener observer{[](const event::Reported&) { throw std::runtime_error{"the display broke"}; }};
    Meeting meeting{2};
    tuner::InThreads threads{2, [&](tuner::RunningJob& job) {
                                 if (!meeting.arrive()) throw std::runtime_error{"alone"};
                                 for (std::int64_t step = 0; job.report(step, 0); ++step) {
                                 }
                                 return 1.0;
                             }};
    store::InMemory store;
    CHECK_THROWS_WITH(tuner_with().optimize(store, "s", one_number, threads, {.trials = 10}, observer), "the display broke");
    CHECK(threads.free_slots() == 2);
}

TEST_CASE("an observer that throws at each end leaves no trial of the run open and loses no value, also after a stop") {
    test::Listener observer{[](const event::AttemptEnded& event) {
        throw std::runtime_error{"trial " + std::to_string(event.trial.number) + " cannot be shown"};
    }};
    for (const bool stops : {false, true}) {
        Meeting meeting{4};
        std::atomic<bool> stop = false;
        tuner::InThreads threads{4, [&](tuner::RunningJob& job) {
                                     if (!meeting.arrive()) throw std::runtime_error{"alone"};
                                     stop = stops;
                                     for (std::int64_t step = 0; stops && job.report(step, 0); ++step) {
                                     }
                                     return std::vector{x_of(job)};
                                 }};
        store::InMemory store;
        CHECK_THROWS_WITH(
            tuner_with().optimize(store, "s", one_number, threads, {.trials = 4, .stop_requested = [&] { return stop.load(); }}, observer),
            Catch::EndsWith("cannot be shown"));
        CHECK(threads.free_slots() == 4);
        std::vector<Trial> trials;
        store.refresh(store.studies().at(0).id, trials);
        REQUIRE(trials.size() == 4);
        for (const Trial& trial : trials) {
            CHECK(trial.state == (stops ? TrialState::fail : TrialState::complete));
            CHECK(trial.user_attributes.contains(lost_attribute) == stops);
            CHECK(trial.values.empty() == stops);
        }
    }
}

TEST_CASE("what an observer throws at the end of a define-by-run trial loses no value") {
    test::Listener observer{[](const event::AttemptEnded&) { throw std::runtime_error{"the display broke"}; }};
    store::InMemory store;
    const auto objective = [](LiveTrial& trial) { return trial.suggest_float("x", 0, 1); };
    CHECK_THROWS_WITH(tuner_with().optimize(store, "s", objective, {.trials = 3}, observer), "the display broke");
    std::vector<Trial> trials;
    store.refresh(store.studies().at(0).id, trials);
    REQUIRE(trials.size() == 1);
    CHECK(trials[0].state == TrialState::complete);
    REQUIRE(trials[0].values.size() == 1);
    CHECK(trials[0].values[0] == trials[0].params.find("x")->internal);
}

TEST_CASE("what a trial function logs is kept with its attempt, in threads and alone") {
    const auto function = [](tuner::RunningJob& job) {
        job.log("trial " + std::to_string(job.number()));
        job.log("ends");
        return 1.0;
    };
    tuner::InThreads threads{2, function};
    tuner::InProcess alone{[&](tuner::RunningJob& job) { return tuner::as_values(function(job)); }};
    for (Executor* const executor : {static_cast<Executor*>(&threads), static_cast<Executor*>(&alone)}) {
        store::InMemory store;
        const TuneResult result = tuner_with().optimize(store, "s", one_number, *executor, {.trials = 6});
        REQUIRE(result.trials.size() == 6);
        for (const Trial& trial : result.trials) CHECK(store.log(trial, 0) == "trial " + std::to_string(trial.number) + "\nends\n");
    }
    store::InMemory store;
    const auto objective = [](LiveTrial& trial) {
        trial.log("asks");
        return trial.suggest_float("x", 0, 1);
    };
    const TuneResult live = tuner_with().optimize(store, "live", objective, {.trials = 2});
    for (const Trial& trial : live.trials) CHECK(store.log(trial, 0) == "asks\n");
}

TEST_CASE("threads that a stop has interrupted run the next call's trials to their end") {
    Meeting meeting{2};
    std::atomic<bool> stop = false;
    tuner::InThreads threads{2, [&](tuner::RunningJob& job) {
                                 if (job.number() < 2 && !meeting.arrive()) throw std::runtime_error{"alone"};
                                 if (job.number() < 2) stop = true;
                                 for (int step = 0; step < 3; ++step) {
                                     if (!job.report(step, 0)) return 0.0;
                                     if (job.number() < 2) step = 0;  // until the stop
                                 }
                                 return x_of(job);
                             }};
    store::InMemory store;
    const TuneResult first =
        tuner_with().optimize(store, "s", one_number, threads, {.trials = 4, .stop_requested = [&] { return stop.load(); }});
    REQUIRE(first.interrupted);
    const std::size_t interrupted = first.trials.size();
    int looks = 0;
    const TuneResult second =
        tuner_with().optimize(store, "s", one_number, threads, {.trials = 4, .stop_requested = [&] { return ++looks > 10'000; }});
    CHECK_FALSE(second.interrupted);
    REQUIRE(second.trials.size() == interrupted + 4);
    for (std::size_t i = interrupted; i < second.trials.size(); ++i) CHECK(second.trials[i].state == TrialState::complete);
}

TEST_CASE("threads without a slot are refused") {
    CHECK_THROWS_WITH((tuner::InThreads{0, [](tuner::RunningJob&) { return 0.0; }}), "slots: got 0; expected 1 or more");
}
