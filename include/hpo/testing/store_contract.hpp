// SPDX-License-Identifier: MIT
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/store/store.hpp"
#include "hpo/testing/sample_trial.hpp"
#include "hpo/testing/store_runs_contract.hpp"
#include "hpo/testing/trial_text.hpp"

#ifndef SECTION
#error "include Catch2 before hpo/testing/store_contract.hpp"
#endif

namespace hpo::testing {

/// The rules for every Store, as sections of a Catch2 test case. Call it from a TEST_CASE with a function that makes an empty store
/// (`std::unique_ptr<Store>`).
template <class MakeStore>
void check_store_contract(MakeStore&& make_store) {
    const std::unique_ptr<Store> owner = make_store();
    Store& store = *owner;
    const std::vector<Direction> one{Direction::minimize};
    const std::vector<Direction> two{Direction::minimize, Direction::maximize};
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    const auto complete = [&](Trial& trial, double value) {
        trial.state = TrialState::complete;
        trial.values = {value};
        store.finish(trial);
    };

    SECTION("a study is created once, and gone on with by name") {
        const Study made = store.open_study("s", two, Store::Open::create);
        CHECK(made.directions == two);
        CHECK(store.open_study("s", two, Store::Open::resume).id == made.id);
        CHECK(store.open_study("s", {}, Store::Open::resume).directions == two);
        CHECK(store.open_study("s", two, Store::Open::create_or_resume).id == made.id);
        CHECK(store.open_study("t", one, Store::Open::create_or_resume).id != made.id);
        CHECK(error_of([&] { store.open_study("s", two, Store::Open::create); }) == Errc::usage);
        CHECK(error_of([&] { store.open_study("s", one, Store::Open::resume); }) == Errc::bad_value);
        CHECK(error_of([&] { store.open_study("", one, Store::Open::create); }) == Errc::bad_value);
        CHECK(error_of([&] { store.open_study("u", {}, Store::Open::create); }) == Errc::bad_value);
        CHECK(store.studies().size() == 2);
        std::string unknown;
        try {
            store.open_study("ss", one, Store::Open::resume);
        } catch (const Error& error) {
            unknown = error.what();
        }
        CAPTURE(unknown);
        CHECK((unknown.find("did you mean 's'?") != std::string::npos || unknown.find("known: s, t") != std::string::npos));
    }
    SECTION("study attributes are replaced by key") {
        const Study study = store.open_study("s", one, Store::Open::create);
        for (const char* json : {"1", "{\"value\": [2, \"\xC3\xA9\"]}"}) store.set_study_user_attribute(study.id, "seed", json);
        for (const char* json : {"3", "4"}) store.set_study_system_attribute(study.id, "seed", json);
        CHECK(store.studies().at(0).user_attributes == Attributes{{"seed", "{\"value\": [2, \"\xC3\xA9\"]}"}});
        CHECK(store.studies().at(0).system_attributes.at("seed") == "4");
    }
    SECTION("trials are numbered within their study") {
        const Study a = store.open_study("a", one, Store::Open::create);
        const Study b = store.open_study("b", one, Store::Open::create);
        for (int i = 0; i < 3; ++i) {
            CHECK(store.begin_trial(a.id, std::nullopt).number == i);
            CHECK(store.begin_trial(b.id, std::nullopt).number == i);
        }
        CHECK(all_trials(store, a).size() == 3);
        CHECK(all_trials(store, b).at(2).number == 2);
    }
    SECTION("what other studies predicted and measured on a device is found by its name, the latest from the oldest") {
        const Study own = store.open_study("own", one, Store::Open::create);
        std::vector<std::int64_t> needs;
        for (const char* name : {"own", "a", "b"}) {
            const Study study = store.open_study(name, one, Store::Open::create_or_resume);
            Trial trial = store.begin_trial(study.id, std::nullopt);
            for (int i = 0; i < 4; ++i) {
                Attempt attempt = sample_attempt(i);
                attempt.started = Time{std::chrono::microseconds{1'790'000'000'000'000 + 1'000'000 * i + (name[0] == 'b' ? 500'000 : 0)}};
                attempt.estimate->need = 1000 * (name[0] == 'b' ? 2 : 1) + i;
                if (i == 0) attempt.device_name = "another card";
                if (i == 1) attempt.outcome.reset();
                store.begin_attempt(trial, attempt);
                trial.attempts.push_back(attempt);
                if (attempt.outcome) store.end_attempt(trial, attempt);
            }
        }
        const std::string device = sample_attempt(0).device_name;
        const auto found = store.attempts_of_other_studies(own.id, device, 100);
        for (const Attempt& attempt : found) needs.push_back(*attempt.estimate->need);
        CHECK(needs == std::vector<std::int64_t>{1002, 2002, 1003, 2003});
        REQUIRE(found.size() == 4);
        CHECK(found[0].model_family == sample_attempt(0).model_family);
        CHECK(found[0].failure->memory.allocated == sample_attempt(0).failure->memory.allocated);
        CHECK(found[0].failure->cause == OomCause::fragmentation);
        CHECK(found[0].plan.device == "cuda:1");
        CHECK(found[0].estimate->parts == sample_attempt(0).estimate->parts);
        const auto latest = store.attempts_of_other_studies(own.id, device, 1);
        REQUIRE(latest.size() == 1);
        CHECK(latest[0].estimate->need == 2003);
        CHECK(store.attempts_of_other_studies(own.id, "another card", 100).size() == 2);
        CHECK(store.attempts_of_other_studies(own.id, "nothing", 100).empty());
    }
    SECTION("everything that a trial holds comes back") {
        const Study study = store.open_study("s", two, Store::Open::create);
        const Run run = store.begin_run(study.id, {});
        Trial trial = store.begin_trial(study.id, run.id);
        CHECK(trial.state == TrialState::running);
        REQUIRE(trial.started);
        trial.params = sample_params();
        store.set_params(trial);
        Attempt first = sample_attempt(0);
        Attempt begun = first;
        begun.outcome.reset();
        begun.failure.reset();
        begun.seconds.reset();
        begun.memory.clear();
        begun.reports.clear();
        store.begin_attempt(trial, begun);
        trial.attempts = {begun};
        CHECK(text_of(all_trials(store, study).at(0)) == text_of(trial));
        store.end_attempt(trial, first);
        Attempt second;  // all defaults but the index
        second.index = 1;
        store.begin_attempt(trial, second);
        second.outcome = OutcomeKind::complete;
        store.end_attempt(trial, second);
        trial.attempts = {first, second};
        for (const auto& [step, value] : StepValues{{0, 1.5}, {7, nan}, {8, infinity}, {9, -infinity}, {1'000'000'000'000, 0.1}}) {
            store.report(trial, {step, value});
            trial.intermediate[step] = value;
        }
        trial.state = TrialState::complete;
        trial.values = {infinity, -0.1};
        trial.user_attributes = {{"oom", "true"}, {"note", "\"\xC3\xA9\\n\\\"\""}, {"list", "[1, {\"a\": null}]"}};
        trial.system_attributes = {{"grid_id", "3"}};
        trial.constraints = {{"memory", 0.5}, {"time", -infinity}};
        trial.completed = Time{std::chrono::microseconds{1'790'000'002'000'003}};
        store.finish(trial);
        CHECK(text_of(all_trials(store, study).at(0)) == text_of(trial));
    }
    SECTION("a finished trial changes no more, and only a running one can be finished") {
        const Study study = store.open_study("s", one, Store::Open::create);
        Trial trial = store.begin_trial(study.id, std::nullopt);
        CHECK(error_of([&] { store.finish(trial); }) == Errc::bad_value);
        Trial wrong = trial;
        CHECK(error_of([&] { complete(wrong, nan); }) == Errc::bad_value);
        wrong.values = {1.0, 2.0};
        CHECK(error_of([&] { store.finish(wrong); }) == Errc::bad_value);
        complete(trial, 1.0);
        CHECK(error_of([&] { store.finish(trial); }) == Errc::store);
        CHECK(error_of([&] { store.report(trial, {0, 1.0}); }) == Errc::store);
        CHECK(error_of([&] { store.set_params(trial); }) == Errc::store);
        CHECK(error_of([&] { store.begin_attempt(trial, {}); }) == Errc::store);
        CHECK(all_trials(store, study).at(0).values == std::vector{1.0});
    }
    SECTION("a step reported twice keeps the later value") {
        const Study study = store.open_study("s", one, Store::Open::create);
        const Trial trial = store.begin_trial(study.id, std::nullopt);
        store.report(trial, {3, 1.0});
        store.report(trial, {3, 2.0});
        CHECK(all_trials(store, study).at(0).intermediate == StepValues{{3, 2.0}});
    }
    SECTION("a new attempt restarts the reports, and the old ones stay with theirs") {
        const Study study = store.open_study("s", one, Store::Open::create);
        const Trial trial = store.begin_trial(study.id, std::nullopt);
        Attempt attempt;
        store.begin_attempt(trial, attempt);
        store.report(trial, {0, 1.0});
        store.report(trial, {1, infinity});
        store.report(trial, {2, nan});
        store.restart_reports(trial, attempt, std::nullopt);
        store.report(trial, {0, 9.0});
        const Trial stored = all_trials(store, study).at(0);
        CHECK(stored.intermediate == StepValues{{0, 9.0}});
        attempt.reports = {{0, 1.0}, {1, infinity}, {2, nan}};
        CHECK(text_of(stored.attempts.at(0)) == text_of(attempt));
    }
    SECTION("a new attempt that goes on from a step keeps the reports up to it") {
        const Study study = store.open_study("s", one, Store::Open::create);
        const Trial trial = store.begin_trial(study.id, std::nullopt);
        Attempt attempt;
        store.begin_attempt(trial, attempt);
        for (std::int64_t step = 0; step < 5; ++step) store.report(trial, {step, static_cast<double>(step)});
        store.restart_reports(trial, attempt, 2);
        store.report(trial, {3, 9.0});
        Attempt second;
        second.index = 1;
        store.begin_attempt(trial, second);
        store.restart_reports(trial, second, 7);
        const Trial stored = all_trials(store, study).at(0);
        CHECK(stored.intermediate == StepValues{{0, 0.0}, {1, 1.0}, {2, 2.0}, {3, 9.0}});
        CHECK(stored.attempts.at(0).reports == StepValues{{3, 3.0}, {4, 4.0}});
        CHECK(stored.attempts.at(1).reports.empty());
    }
    SECTION("memory marks may come while the attempt runs, with its end, or both") {
        const Study study = store.open_study("s", one, Store::Open::create);
        const Trial trial = store.begin_trial(study.id, std::nullopt);
        CHECK(error_of([&] { store.memory_mark(trial, 0, {}); }) == Errc::bad_value);
        Attempt attempt;
        store.begin_attempt(trial, attempt);
        const std::vector<MemoryMark> marks = sample_attempt(0).memory;
        store.memory_mark(trial, 0, marks[0]);
        attempt.memory = {marks[0], marks[1]};
        store.end_attempt(trial, attempt);
        store.memory_mark(trial, 0, marks[2]);
        attempt.memory = marks;
        CHECK(text_of(all_trials(store, study).at(0).attempts.at(0)) == text_of(attempt));
    }
    SECTION("what an attempt wrote is kept, whole and for each attempt") {
        const Study study = store.open_study("s", one, Store::Open::create);
        const Trial trial = store.begin_trial(study.id, std::nullopt);
        CHECK(error_of([&] { store.keep_log(trial, 0, "epoch 1"); }) == Errc::bad_value);
        Attempt attempt;
        store.begin_attempt(trial, attempt);
        CHECK(store.log(trial, 0).empty());
        store.keep_log(trial, 0, "epoch 1");
        store.keep_log(trial, 0, "epoch 1\n\xe2\x82\xac 2\n");
        attempt.index = 1;
        store.begin_attempt(trial, attempt);
        CHECK(store.log(trial, 0) == "epoch 1\n\xe2\x82\xac 2\n");
        CHECK(store.log(trial, 1).empty());
        CHECK(store.log(store.begin_trial(study.id, std::nullopt), 0).empty());
        store.delete_study(study.id);
        CHECK(store.log(trial, 0).empty());
    }
    SECTION("enqueued trials are taken in their order, each once, before new ones") {
        const Study study = store.open_study("s", one, Store::Open::create);
        store.enqueue(study.id, {{"x", 0.5}, {"model", std::string{"base"}}, {"n", std::int64_t{3}}});
        const Trial waiting = store.enqueue(study.id, {});
        CHECK(waiting.state == TrialState::waiting);
        CHECK_FALSE(waiting.started);
        Trial first = store.begin_trial(study.id, std::nullopt);
        CHECK(first.number == 0);
        CHECK(first.state == TrialState::running);
        CHECK(first.started);
        CHECK(first.system_attributes == Attributes{{"fixed_params", R"({"x": 0.5, "model": "base", "n": 3})"}});
        REQUIRE(first.fixed.size() == 3);
        CHECK(first.fixed[1] == std::pair<std::string, Value>{"model", std::string{"base"}});
        CHECK(store.begin_trial(study.id, std::nullopt).number == 1);
        CHECK(store.begin_trial(study.id, std::nullopt).number == 2);
        store.enqueue(study.id, {});
        CHECK(store.begin_trial(study.id, std::nullopt).number == 3);
        complete(first, 1.0);
        CHECK(all_trials(store, study).at(0).system_attributes.contains("fixed_params"));
    }
    SECTION("rejections come back in their order") {
        const Study study = store.open_study("s", one, Store::Open::create);
        Rejection bare;
        bare.violation = infinity;
        bare.at = Time{std::chrono::microseconds{5}};
        store.reject(study.id, sample_rejection());
        store.reject(study.id, bare);
        const auto stored = store.rejections(study.id);
        REQUIRE(stored.size() == 2);
        CHECK(text_of(stored[0]) == text_of(sample_rejection()));
        CHECK(text_of(stored[1]) == text_of(bare));
    }
    SECTION("a list is brought up to date, and the caller's running trials stay as they stand in it") {
        const Study study = store.open_study("s", one, Store::Open::create);
        std::vector<Trial> trials;
        CHECK_FALSE(store.refresh(study.id, trials));
        CHECK(trials.empty());
        trials.push_back(store.begin_trial(study.id, std::nullopt));
        trials[0].user_attributes["draft"] = "1";
        store.enqueue(study.id, {{"x", 1.0}});
        CHECK(store.refresh(study.id, trials));
        CHECK_FALSE(store.refresh(study.id, trials));
        REQUIRE(trials.size() == 2);
        CHECK(trials[0].user_attributes.contains("draft"));
        CHECK(trials[1].state == TrialState::waiting);
        trials[1] = store.begin_trial(study.id, std::nullopt);
        complete(trials[0], 1.0);
        complete(trials[1], 2.0);
        store.refresh(study.id, trials);
        REQUIRE(trials.size() == 2);
        CHECK(trials[1].values == std::vector{2.0});
    }
    SECTION("a deleted study is gone with everything, and the others stay") {
        const Study a = store.open_study("a", one, Store::Open::create);
        const Study b = store.open_study("b", one, Store::Open::create);
        Trial trial = store.begin_trial(a.id, store.begin_run(a.id, {}).id);
        store.begin_attempt(trial, sample_attempt(0));
        store.reject(a.id, sample_rejection());
        Trial kept = store.begin_trial(b.id, std::nullopt);
        complete(kept, 4.0);
        store.delete_study(a.id);
        CHECK(store.studies().size() == 1);
        CHECK(all_trials(store, b).at(0).values == std::vector{4.0});
        CHECK(error_of([&] { store.report(trial, {0, 1.0}); }) == Errc::store);
        CHECK(error_of([&] { store.begin_trial(a.id, std::nullopt); }) == Errc::store);
        const Study again = store.open_study("a", one, Store::Open::create);
        CHECK(all_trials(store, again).empty());
        const Trial fresh = store.begin_trial(again.id, std::nullopt);
        CHECK(fresh.number == 0);
        CHECK(all_trials(store, again).at(0).attempts.empty());
        CHECK(store.rejections(again.id).empty());
    }
    check_store_runs(store);
}

}  // namespace hpo::testing
