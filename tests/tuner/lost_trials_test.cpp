// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hpo/guard/unlimited.hpp"
#include "hpo/pruner/none.hpp"
#include "hpo/recovery/fail.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/store/retries.hpp"
#include "hpo/tuner.hpp"
#include "hpo/tuner/study_event.hpp"
#include "support/catch.hpp"
#include "support/listener.hpp"

using namespace hpo;

namespace {

constexpr const char* study_name = "s";

const Space interval = [](SpaceTrial& trial) { trial.suggest_float("x", 0, 1); };

/// Three jobs at once; each reports and ends only when it is let.
class Held final : public Executor {
public:
    explicit Held(bool lets_end) : lets_end_{lets_end} {}
    [[nodiscard]] std::size_t free_slots() const override { return 3 - queue_.size(); }
    void submit(const Job& job, ExecutorEvents& events) override {
        events.on(job.trial, hpo::AttemptStarted{1});
        queue_.push_back(job);
        seeds.push_back(job.seed);
    }
    void wait(ExecutorEvents& events, double /*timeout_seconds*/) override {
        if (queue_.empty()) return;
        const Job job = queue_.front();
        if (!lets_end_ && !interrupted_) return (void)events.on(job.trial, hpo::Report{.step = ++step_, .value = 1});
        queue_.erase(queue_.begin());
        events.on(job.trial, interrupted_ ? AttemptOutcome{.kind = OutcomeKind::interrupted}
                                          : AttemptOutcome{.kind = OutcomeKind::complete, .values = {*job.params.number("x")}});
    }
    void interrupt() override { interrupted_ = true; }
    [[nodiscard]] std::optional<std::int64_t> capacity_bytes() const override { return std::nullopt; }

    std::vector<std::uint64_t> seeds;

private:
    bool lets_end_;
    bool interrupted_ = false;
    std::int64_t step_ = 0;
    std::vector<Job> queue_;
};

struct RetryListener final : TuneObserver {
    void on(const StudyEvent& event) override {
        if (const auto* const next = std::get_if<event::TrialGoesOn>(&event)) again.emplace_back(next->lost.number, next->trial.number);
        if (const auto* const alone = std::get_if<event::TrialLeftAlone>(&event))
            left.push_back(std::to_string(alone->lost.number) + ": " + alone->why);
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> again;
    std::vector<std::string> left;
};

Tuner<sampler::Random, pruner::None, guard::Unlimited, recovery::Fail> make_tuner() { return {{}, {}, {}, {}}; }

/// A study whose three running trials were interrupted before any checkpoint.
TuneResult interrupted(Store& store, std::vector<std::uint64_t>* seeds = nullptr) {
    Held executor{false};
    int looks = 0;
    TuneResult result =
        make_tuner().optimize(store, study_name, interval, executor, {.trials = 6, .stop_requested = [&] { return ++looks > 20; }});
    REQUIRE(result.interrupted);
    REQUIRE(result.trials.size() == 3);
    for (const Trial& trial : result.trials) REQUIRE(is_lost(trial));
    if (seeds) *seeds = executor.seeds;
    return result;
}

}  // namespace

TEST_CASE("trials that were interrupted before a checkpoint run again under their parameters, each once") {
    store::InMemory store;
    std::vector<std::uint64_t> seeds;
    const TuneResult before = interrupted(store, &seeds);
    Held executor{true};
    RetryListener listener;
    const TuneResult after = make_tuner().optimize(store, study_name, interval, executor, {.trials = 6}, listener);
    CHECK(listener.again == std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 3}, {1, 4}, {2, 5}});
    REQUIRE(after.trials.size() == 9);
    for (std::size_t i = 0; i < 3; ++i) {
        const Trial& again = after.trials[i + 3];
        CHECK(again.state == TrialState::complete);
        CHECK(again.params == before.trials[i].params);
        CHECK(again.values.at(0) == before.trials[i].params.number("x"));
        CHECK(again.intermediate.empty());  // what the lost one told is its own
        CHECK(retry_history(again) == std::vector<std::int64_t>{static_cast<std::int64_t>(i)});
        CHECK(executor.seeds[i] == seeds[i]);
    }
    for (std::size_t i = 6; i < 9; ++i) CHECK(retry_history(after.trials[i]).empty());
    RetryListener later;
    Held more{true};
    CHECK(make_tuner().optimize(store, study_name, interval, more, {.trials = 8}, later).trials.size() == 11);
    CHECK(later.again.empty());
}

TEST_CASE("a lost trial that is interrupted again runs once more, and only one of its line does") {
    store::InMemory store;
    (void)interrupted(store);
    Held held{false};
    int looks = 0;
    const auto second =
        make_tuner().optimize(store, study_name, interval, held, {.trials = 6, .stop_requested = [&] { return ++looks > 20; }});
    REQUIRE(second.trials.size() == 6);
    Held executor{true};
    const auto third = make_tuner().optimize(store, study_name, interval, executor, {.trials = 3});
    REQUIRE(third.trials.size() == 9);
    for (std::size_t i = 6; i < 9; ++i) {
        CHECK(third.trials[i].params == third.trials[i - 6].params);
        CHECK(retry_history(third.trials[i]).size() == 2);
    }
}

TEST_CASE("a retry that was lost before its first attempt is passed over for the trial that it would have run again") {
    const auto lost = [](std::int64_t number, const std::string& history) {
        Trial trial;
        trial.number = number;
        trial.state = TrialState::fail;
        trial.user_attributes["lost"] = "true";
        trial.params.set("x", FloatDistribution{0, 1}, 0.5);
        if (!history.empty()) trial.system_attributes["retry_history"] = history;
        return trial;
    };
    std::vector<Trial> trials{lost(0, ""), lost(1, "[0]")};
    trials[0].attempts.emplace_back();
    CHECK(trials_left_behind(trials) == std::vector<std::int64_t>{0});
    trials[1].attempts.emplace_back();
    CHECK(trials_left_behind(trials) == std::vector<std::int64_t>{1});
    trials[0].attempts.clear();
    trials.pop_back();
    CHECK(trials_left_behind(trials) == std::vector<std::int64_t>{0});  // before its launch
    trials[0].params = {};
    CHECK(trials_left_behind(trials).empty());  // nothing of it is known
    trials[0].fixed = {{"x", 0.5}};
    CHECK(trials_left_behind(trials) == std::vector<std::int64_t>{0});
}

TEST_CASE("an enqueued trial that was interrupted before it was drawn is run with its values") {
    store::InMemory store;
    const Study study = store.open_study(study_name, std::vector{Direction::minimize}, Store::Open::create);
    store.enqueue(study.id, {{"x", 0.125}});
    Trial taken = store.begin_trial(study.id, std::nullopt);
    taken.state = TrialState::fail;
    taken.user_attributes["lost"] = "true";
    store.finish(taken);
    Held executor{true};
    const auto result = make_tuner().optimize(store, study_name, interval, executor, {.trials = 1});
    REQUIRE(result.trials.size() == 2);
    CHECK(result.trials[1].values == std::vector{0.125});
}

TEST_CASE("a lost trial that the space would not make now is told, and replaced") {
    store::InMemory store;
    (void)interrupted(store);
    Held executor{true};
    RetryListener listener;
    const Space other = [](SpaceTrial& trial) {
        trial.suggest_float("x", 0, 1);
        trial.suggest_int("n", 1, 3);
    };
    const auto result = make_tuner().optimize(store, study_name, other, executor, {.trials = 3}, listener);
    CHECK(listener.left.size() == 3);
    CHECK(listener.left.at(0) == "0: the space now asks for 'n', which the trial does not have");
    CHECK(result.trials.size() == 6);
    for (const Trial& trial : result.trials) CHECK(retry_history(trial).empty());
}

TEST_CASE("an objective's trial that an error of the study cut short runs again with what it had drawn") {
    test::Listener observer{[](const event::Reported& event) {
        if (event.trial.number == 1) throw std::runtime_error{"the observer's"};
    }};
    store::InMemory store;
    const auto objective = [](LiveTrial& trial) {
        const double x = trial.suggest_float("x", 0, 1);
        trial.report(1, x);
        return x;
    };
    CHECK_THROWS_WITH(make_tuner().optimize(store, study_name, objective, {.trials = 3}, observer), "the observer's");
    RetryListener listener;
    const auto result = make_tuner().optimize(store, study_name, objective, {.trials = 3}, listener);
    REQUIRE(result.trials.size() == 4);
    CHECK(is_lost(result.trials[1]));
    CHECK(result.trials[2].params == result.trials[1].params);
    CHECK(listener.again == std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 2}});
}

TEST_CASE("an objective that asks for other parameters now draws its own in place of a lost trial, which costs no trial") {
    test::Listener observer{[](const event::Reported&) { throw std::runtime_error{"the observer's"}; }};
    const auto asks = [](double low, bool with_n) {
        return [low, with_n](LiveTrial& trial) {
            const double x = trial.suggest_float("x", low, low + 1);
            if (with_n) trial.suggest_int("n", 1, 3);
            trial.report(1, x);
            return x;
        };
    };
    store::InMemory store;
    CHECK_THROWS_WITH(make_tuner().optimize(store, study_name, asks(0, true), {.trials = 3}, observer), "the observer's");
    RetryListener listener;
    const auto result = make_tuner().optimize(store, study_name, asks(2, false), {.trials = 3}, listener);
    REQUIRE(listener.left.size() == 1);
    CHECK_THAT(listener.left[0], Catch::StartsWith("0: the space has changed: fixed parameter 'x': got "));
    std::vector<Trial> stored;
    store.refresh(result.study.id, stored);
    REQUIRE(stored.size() == 4);
    for (std::size_t i = 1; i < 4; ++i) {
        CHECK(stored[i].state == TrialState::complete);
        CHECK(stored[i].values.at(0) >= 2);
        CHECK(stored[i].params.size() == 1);
        CHECK(stored[i].attempts.size() == 1);
    }
}

namespace {

enum class End { process_ended, stopped, process_ended_after_checkpoint };

/// A study of one configuration that was lost in these ways, each time by the trial that ran it again.
void lose_again_and_again(Store& store, const std::vector<End>& ends) {
    const Study study = store.open_study(study_name, std::vector{Direction::minimize}, Store::Open::create);
    std::optional<Trial> trial = store.begin_trial(study.id, std::nullopt);
    trial->params.set("x", FloatDistribution{0, 1}, 0.5);
    store.set_params(*trial);
    for (std::size_t i = 0; i < ends.size(); ++i) {
        if (i > 0) trial = store.begin_retry_within(study.id, std::nullopt, {.trials = 99}, *trial, std::nullopt).value();
        Attempt attempt;
        store.begin_attempt(*trial, attempt);
        attempt.outcome = OutcomeKind::interrupted;
        if (ends[i] != End::stopped) attempt.failure = Failure{.kind = FailureKind::lost_worker, .message = "gone"};
        if (ends[i] == End::process_ended_after_checkpoint) attempt.checkpoint_step = 1;
        store.end_attempt(*trial, attempt);
        trial->state = TrialState::fail;
        trial->user_attributes[lost_attribute] = std::string{lost_json};
        trial->attempts = {attempt};
        store.finish(*trial);
    }
}

}  // namespace

TEST_CASE("a configuration that ended its process three times in a row fails with that reason, and the study goes on") {
    for (const bool live : {false, true}) {
        CAPTURE(live);
        store::InMemory store;
        lose_again_and_again(store, {End::process_ended, End::process_ended, End::process_ended});
        RetryListener listener;
        Held executor{true};
        const auto result =
            live ? make_tuner().optimize(
                       store, study_name, [](LiveTrial& trial) { return trial.suggest_float("x", 0, 1); }, {.trials = 2}, listener)
                 : make_tuner().optimize(store, study_name, interval, executor, {.trials = 2}, listener);
        REQUIRE(result.trials.size() == 5);
        CHECK(listener.again.empty());
        const Trial& failed = result.trials[3];
        CHECK(failed.state == TrialState::fail);
        CHECK(counts_as_done(failed));
        CHECK(failed.attempts.empty());
        CHECK(failed.params == result.trials[0].params);
        CHECK(failed.user_attributes.at("error_message") ==
              "\"not run again: its process ended 3 times in a row while it ran, the last time in trial 2; the reason is not known\"");
        CHECK(result.trials[4].state == TrialState::complete);
        CHECK(retry_history(result.trials[4]).empty());
        CHECK(trials_left_behind(result.trials).empty());
    }
}

TEST_CASE("a stop or a checkpoint in between lets a lost configuration run again, and so does another bound") {
    using enum End;
    for (const std::vector<End>& ends :
         std::vector<std::vector<End>>{{process_ended, process_ended},
                                       {process_ended, process_ended, stopped, process_ended, process_ended},
                                       {stopped, stopped, stopped, stopped},
                                       {process_ended, process_ended, process_ended_after_checkpoint, process_ended}}) {
        store::InMemory store;
        lose_again_and_again(store, ends);
        Held executor{true};
        const auto result = make_tuner().optimize(store, study_name, interval, executor, {.trials = 1});
        REQUIRE(result.trials.size() == ends.size() + 1);
        CHECK(result.trials.back().values == std::vector{0.5});
    }
    store::InMemory store;
    lose_again_and_again(store, {process_ended, process_ended, process_ended});
    Held executor{true};
    CHECK(make_tuner().optimize(store, study_name, interval, executor, {.trials = 1, .max_losses = 4}).trials.back().values ==
          std::vector{0.5});
}
