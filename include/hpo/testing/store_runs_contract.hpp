// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/store/retries.hpp"
#include "hpo/store/store.hpp"
#include "hpo/testing/trial_text.hpp"

#ifndef SECTION
#error "include Catch2 before hpo/testing/store_runs_contract.hpp"
#endif

namespace hpo::testing {

/// The kind of Error that `work` throws. Errc::interrupted if it throws none.
template <class Work>
[[nodiscard]] Errc error_of(Work&& work) {
    try {
        work();
    } catch (const Error& error) {
        return error.code();
    }
    return Errc::interrupted;
}

/// All trials of a study, newly read.
[[nodiscard]] inline std::vector<Trial> all_trials(Store& store, const Study& study) {
    std::vector<Trial> trials;
    store.refresh(study.id, trials);
    return trials;
}

/// The part of the store's contract about processes that share a study, and which of them owns a trial. Sections of check_store_contract.
inline void check_store_runs(Store& store) {
    const std::vector<Direction> one{Direction::minimize};
    const auto complete = [&](Trial& trial, double value) {
        trial.state = TrialState::complete;
        trial.values = {value};
        store.finish(trial);
    };

    SECTION("a new study's name is text that can be shown") {
        CHECK(error_of([&] { (void)store.open_study("a\xffz", one, Store::Open::create); }) == Errc::bad_value);
        CHECK(error_of([&] { (void)store.open_study("two\nlines", one, Store::Open::create); }) == Errc::bad_value);
        CHECK(store.studies().empty());
    }
    SECTION("a study in the place of a deleted one begins its quota anew") {
        for (int round = 0; round < 2; ++round) {
            const Study study = store.open_study("again", one, Store::Open::create);
            const Run here = store.begin_run(study.id, {});
            const auto within_two = [&] {
                return store.begin_trial_within(study.id, here.id, {.trials = 2, .own_running = 0, .grace_seconds = 3600});
            };
            for (int i = 0; i < 2; ++i) {
                auto trial = within_two();
                REQUIRE(trial);
                CHECK(trial->number == i);
                complete(*trial, 1.0);
            }
            CHECK_FALSE(within_two());
            store.delete_study(study.id);
        }
    }
    SECTION("a trial that goes on with a lost one is begun once, within the quota, and says so") {
        const Study study = store.open_study("s", one, Store::Open::create);
        const Run here = store.begin_run(study.id, {});
        const auto retry_of_one = [&](const Trial& lost, std::int64_t trials) {
            return store.begin_retry_within(study.id, here.id, {.trials = trials, .own_running = 0, .grace_seconds = 3600}, lost, 1);
        };
        const auto lose = [&](Trial& trial) {
            trial.state = TrialState::fail;
            trial.user_attributes["lost"] = "true";
            store.finish(trial);
        };
        Trial lost = store.begin_trial(study.id, here.id);
        lost.params.set("x", FloatDistribution{0.0, 1.0, false, std::nullopt}, 0.25);
        store.set_params(lost);
        for (const std::int64_t step : {0, 1, 2}) {
            store.report(lost, {.step = step, .value = 0.5});
            lost.intermediate[step] = 0.5;
        }
        lost.user_attributes["who"] = "\"me\"";
        lose(lost);
        CHECK_FALSE(retry_of_one(lost, 0));
        auto first = retry_of_one(lost, 2);
        REQUIRE(first);
        CHECK(text_of(all_trials(store, study).at(1)) == text_of(*first));
        CHECK(first->number == 1);
        CHECK(first->state == TrialState::running);
        CHECK(first->params == lost.params);
        CHECK(first->intermediate == StepValues{{0, 0.5}, {1, 0.5}});
        CHECK(first->user_attributes == Attributes{{"who", "\"me\""}});
        CHECK(first->system_attributes == Attributes{{"failed_trial", "0"}, {"retry_history", "[0]"}});
        CHECK_FALSE(retry_of_one(lost, 9));  // a retry exists already
        lose(*first);
        auto second = retry_of_one(lost, 9);  // the first call changed nothing
        REQUIRE(second);
        store.begin_attempt(*second, {});
        lose(*second);
        CHECK_FALSE(retry_of_one(lost, 9));
        auto third = retry_of_one(*second, 9);
        REQUIRE(third);
        CHECK(third->system_attributes == Attributes{{"failed_trial", "0"}, {"retry_history", "[0, 2]"}});
        CHECK(all_trials(store, study).size() == 4);
    }
    SECTION("only a FAIL trial that carries the mark of a lost one does not count as done") {
        const Study study = store.open_study("s", one, Store::Open::create);
        const Run here = store.begin_run(study.id, {});
        const auto begin_within = [&](std::int64_t trials) {
            return store.begin_trial_within(study.id, here.id, {.trials = trials, .own_running = 0, .grace_seconds = 3600});
        };
        Trial finished = begin_within(1).value();
        finished.user_attributes[lost_attribute] = std::string{lost_json};  // an attribute of some other program
        complete(finished, 1.0);
        CHECK(counts_as_done(all_trials(store, study).at(0)));
        CHECK_FALSE(begin_within(1));
        Trial failed = begin_within(2).value();
        failed.state = TrialState::fail;
        failed.user_attributes[lost_attribute] = "\"a tooth\"";
        store.finish(failed);
        CHECK(counts_as_done(all_trials(store, study).at(1)));
        CHECK_FALSE(begin_within(2));
        Trial lost = begin_within(3).value();
        lost.state = TrialState::fail;
        lost.user_attributes[lost_attribute] = std::string{lost_json};
        store.finish(lost);
        CHECK(is_lost(all_trials(store, study).at(2)));
        CHECK(begin_within(3));
    }
    SECTION("a trial's parameters are those that were set last, and no others") {
        const Study study = store.open_study("s", one, Store::Open::create);
        Trial trial = store.begin_trial(study.id, std::nullopt);
        trial.params.set("x", FloatDistribution{0.0, 1.0, false, std::nullopt}, 0.25);
        trial.params.set("y", FloatDistribution{0.0, 1.0, false, std::nullopt}, 0.5);
        store.set_params(trial);
        trial.params = {};
        trial.params.set("x", FloatDistribution{2.0, 3.0, false, std::nullopt}, 2.5);
        store.set_params(trial);
        complete(trial, 1.0);
        CHECK(all_trials(store, study).at(0).params == trial.params);
    }
    SECTION("a trial that runs a lost one again has its parameters and none of its reports, and is begun once") {
        const Study study = store.open_study("s", one, Store::Open::create);
        const Run here = store.begin_run(study.id, {});
        store.enqueue(study.id, {{"x", 0.25}});
        Trial lost = store.begin_trial(study.id, here.id);
        lost.params.set("x", FloatDistribution{0.0, 1.0, false, std::nullopt}, 0.25);
        store.set_params(lost);
        store.report(lost, {.step = 0, .value = 0.5});
        lost.intermediate[0] = 0.5;
        lost.state = TrialState::fail;
        lost.user_attributes["lost"] = "true";
        store.finish(lost);
        const Quota quota{.trials = 5, .own_running = 0, .grace_seconds = 3600};
        const auto again = store.begin_retry_within(study.id, here.id, quota, lost, std::nullopt);
        REQUIRE(again);
        CHECK(text_of(all_trials(store, study).at(1)) == text_of(*again));
        CHECK(again->params == lost.params);
        CHECK(again->fixed.size() == 1);
        CHECK(again->intermediate.empty());
        CHECK(again->user_attributes.empty());
        CHECK(again->system_attributes.at("retry_history") == "[0]");
        CHECK_FALSE(store.begin_retry_within(study.id, here.id, quota, lost, std::nullopt));
        CHECK(trials_left_behind(all_trials(store, study)).empty());
    }
    SECTION("trials are begun within a quota: what is done, what the caller runs, and what living runs run") {
        const Study study = store.open_study("s", one, Store::Open::create);
        const Run here = store.begin_run(study.id, {});
        const Run other =
            store.begin_run(study.id, {.id = -1, .host = "another-host", .pid = 1, .started_ticks = "1", .configuration = "{}"});
        const Run dead =
            store.begin_run(study.id, {.id = -1, .host = here.host, .pid = here.pid, .started_ticks = "1", .configuration = "{}"});
        const auto within = [&](std::int64_t trials, std::int64_t own) {
            return store.begin_trial_within(study.id, here.id, {.trials = trials, .own_running = own, .grace_seconds = 3600});
        };
        CHECK_FALSE(within(0, 0));
        (void)store.begin_trial(study.id, dead.id);       // this trial is lost
        (void)store.begin_trial(study.id, std::nullopt);  // this trial has no owner
        Trial theirs = store.begin_trial(study.id, other.id);
        CHECK_FALSE(within(1, 0));
        auto first = within(3, 0);
        REQUIRE(first);
        CHECK(first->number == 3);
        auto second = within(3, 1);
        REQUIRE(second);
        CHECK_FALSE(within(3, 2));
        complete(*first, 1.0);
        CHECK_FALSE(within(3, 1));
        second->state = TrialState::fail;
        second->user_attributes[std::string{lost_attribute}] = "true";
        store.finish(*second);
        auto third = within(3, 0);
        REQUIRE(third);
        complete(*third, 2.0);
        complete(theirs, 3.0);
        CHECK_FALSE(within(3, 0));
        store.enqueue(study.id, {{"x", 0.5}});
        CHECK_FALSE(within(3, 0));
        auto waiting = within(4, 0);
        REQUIRE(waiting);
        CHECK(waiting->fixed.size() == 1);
        CHECK(all_trials(store, study).size() == 7);
    }
    SECTION("trials of a run that is gone are failed as lost; others are left alone") {
        const Study study = store.open_study("s", one, Store::Open::create);
        const Run here = store.begin_run(study.id, {});
        CHECK(here.id >= 0);
        CHECK_FALSE(here.host.empty());
        CHECK_FALSE(here.started_ticks.empty());
        const Run on_another_host =
            store.begin_run(study.id, {.id = -1, .host = "another-host", .pid = 1, .started_ticks = "1", .configuration = "{}"});
        const Run recycled =
            store.begin_run(study.id, {.id = -1, .host = here.host, .pid = here.pid, .started_ticks = "1", .configuration = "{}"});
        const Trial own = store.begin_trial(study.id, here.id);
        const Trial remote = store.begin_trial(study.id, on_another_host.id);
        const Trial lost = store.begin_trial(study.id, recycled.id);
        const Trial nobodys = store.begin_trial(study.id, std::nullopt);
        Attempt attempt;
        store.begin_attempt(lost, attempt);
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        CHECK(store.settle_lost_trials(study.id, 3600) == 1);
        CHECK(store.settle_lost_trials(study.id, 3600) == 0);
        auto trials = all_trials(store, study);
        CHECK(trials.at(own.number).state == TrialState::running);
        CHECK(trials.at(remote.number).state == TrialState::running);
        CHECK(trials.at(nobodys.number).state == TrialState::running);
        const Trial& settled = trials.at(lost.number);
        CHECK(settled.state == TrialState::fail);
        REQUIRE(settled.completed);
        CHECK(settled.completed == settled.started);  // the run's last sign of life was its start
        CHECK(settled.user_attributes == Attributes{{std::string{lost_attribute}, "true"}});
        CHECK_FALSE(counts_as_done(settled));
        CHECK(settled.attempts.at(0).outcome == OutcomeKind::interrupted);
        REQUIRE(settled.attempts.at(0).failure);
        CHECK(settled.attempts.at(0).failure->kind == FailureKind::lost_worker);
        store.heartbeat(on_another_host);
        CHECK(store.settle_lost_trials(study.id, 3600) == 0);
        CHECK(store.settle_lost_trials(study.id, -1) == 1);
        CHECK(all_trials(store, study).at(remote.number).state == TrialState::fail);
        store.end_run(here);
        CHECK(store.settle_lost_trials(study.id, 3600) == 1);
        CHECK(error_of([&] { store.report(own, {0, 1.0}); }) == Errc::store);
    }
}

}  // namespace hpo::testing
