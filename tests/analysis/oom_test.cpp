// SPDX-License-Identifier: MIT
#include "hpo/analysis/oom.hpp"

#include <array>
#include <chrono>
#include <ctime>
#include <random>
#include <string>

#include "hpo/analysis/failure_cases/failure_name.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/failure/source_attributes.hpp"
#include "hpo/script/recovery_answer.hpp"
#include "hpo/script/study_script.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"

using hpo::tests::mib;

namespace {

hpo::Failure device_oom(std::int64_t asked, std::int64_t held, std::int64_t capacity) {
    hpo::Failure failure = hpo::classify_text(
        {.type = "c10::OutOfMemoryError", .message = "CPU out of memory. Tried to allocate " + hpo::format_bytes(asked) + "."});
    failure.memory.allocated = held;
    failure.memory.reserved = held;
    failure.memory.free = capacity - held;
    failure.memory.capacity = capacity;
    failure.requested_bytes = asked;
    failure.where = "backward";
    hpo::explain_oom(failure);
    return failure;
}

/// A trial of ours on a device of 600 MiB: its micro-batch is halved until it fits at 64.
hpo::Trial our_trial(std::int64_t number, std::int64_t batch, const std::string& model) {
    hpo::Trial trial;
    trial.number = number;
    trial.state = hpo::TrialState::complete;
    trial.values = {0.5};
    trial.params.set("model", hpo::CategoricalDistribution{{hpo::Value{std::string{"cnn"}}, hpo::Value{std::string{"resnet"}}}},
                     model == "cnn" ? 0 : 1);
    trial.params.set("batch_size", hpo::IntDistribution{16, 256, false, 16}, static_cast<double>(batch));
    trial.params.set("lr", hpo::FloatDistribution{1e-5, 1e-1, true, {}}, 1e-3 * static_cast<double>(number % 7 + 1));
    trial.started = hpo::Time{std::chrono::microseconds{(1000 + number * 10) * 1'000'000}};
    trial.completed = *trial.started + std::chrono::microseconds{8'000'000};
    std::int64_t micro = batch;
    for (int index = 0;; ++index) {
        hpo::Attempt attempt;
        attempt.index = index;
        attempt.plan.effective_batch = batch;
        attempt.plan.micro_batch = micro;
        attempt.worker_pid = 4711;
        attempt.seconds = 2;
        attempt.estimate = hpo::Estimate{.need = micro * 5 * mib, .comfort = {}, .source = "formula", .cap_bytes = {}};
        const bool fits = model == "cnn" || micro <= 64;
        attempt.outcome = fits ? hpo::OutcomeKind::complete : hpo::OutcomeKind::failed;
        attempt.peak_allocated = fits ? micro * 4 * mib : 590 * mib;
        if (!fits) attempt.failure = device_oom(64 * mib, 560 * mib, 600 * mib);
        if (!fits) attempt.decision = "micro-batch halved";
        trial.attempts.push_back(attempt);
        if (fits) return trial;
        micro /= 2;
    }
}

std::vector<hpo::Trial> our_study() {
    std::vector<hpo::Trial> trials;
    std::int64_t number = 0;
    for (int round = 0; round < 3; ++round) {
        for (const std::int64_t batch : {16, 32, 64, 128, 192, 256}) {
            for (const char* model : {"cnn", "resnet"}) trials.push_back(our_trial(number++, batch, model));
        }
    }
    return trials;
}

}  // namespace

TEST_CASE("a study of ours is explained from its attempts") {
    const auto trials = our_study();
    const auto report = hpo::analysis::oom_report(trials, {});
    CHECK(report.trials == 36);
    CHECK(report.oom_trials == 9);  // resnet with 128, 192 and 256
    CHECK(report.recovered_trials == 9);
    CHECK(report.oom_attempts == 15);  // one, two and two attempts too many
    CHECK(report.wasted_seconds == Approx(30));
    CHECK(report.capacity_bytes == 600 * mib);
    CHECK(report.causes.at(hpo::OomCause::capacity).count == 15);
    REQUIRE(report.regions.size() == 1);
    CHECK(hpo::analysis::describe(report.regions[0].region) == "batch_size >= 128 and model = resnet");
    CHECK(report.regions[0].trials == 9);
    CHECK(report.regions[0].oom == 9);
    for (const auto& entry : report.cases) {
        REQUIRE(entry.change);
        CHECK(entry.change->basis == hpo::analysis::Change::Basis::attempt);
    }
    CHECK(report.cases[0].change->what == "micro-batch 64 instead of 128");
    CHECK(report.prediction.attempts == 36);
    CHECK(report.prediction.underestimated == 0);
    CHECK(report.prediction.median_relative_error == Approx(0.25));
    CHECK(report.prediction.oom_attempts_predicted_to_fit == 3);  // 96 and 128 of 192 and 256 were: 480 and 640 MiB
}

TEST_CASE("the parameters that a rule changed are what would have fitted, by name") {
    std::vector<hpo::Trial> trials{our_trial(0, 128, "resnet")};
    hpo::Attempt& fitting = trials[0].attempts.back();
    fitting.plan = trials[0].attempts.front().plan;
    fitting.changed_params = trials[0].params;
    fitting.changed_params->set("batch_size", hpo::IntDistribution{16, 256, false, 16}, 64);
    CHECK(hpo::analysis::oom_report(trials, {}).cases.at(0).change.value().what == "batch_size 64 instead of 128");
    fitting.plan.activation_checkpointing = true;
    CHECK_THAT(hpo::analysis::oom_report(trials, {}).cases.at(0).change.value().what, Catch::EndsWith(", batch_size 64 instead of 128"));
}

namespace {

/// A trial whose attempts met the caps of what they were promised of a device of 120 MiB, one after the other; the last ran, under
/// `ran_under` or without a cap.
hpo::Trial promised_trial(std::int64_t number, const std::vector<std::int64_t>& met, std::optional<std::int64_t> ran_under) {
    hpo::Trial trial = our_trial(number, 64, "cnn");
    const hpo::Attempt plain = trial.attempts.front();
    trial.attempts.clear();
    for (std::size_t index = 0; index <= met.size(); ++index) {
        hpo::Attempt attempt = plain;
        attempt.index = static_cast<int>(index);
        attempt.worker_pid += attempt.index;
        hpo::MemoryMark start{.name = "trial_start", .step = {}, .reading = {}};
        start.reading.capacity = 120 * mib;
        start.reading.limit = index < met.size() ? std::optional{met[index]} : ran_under;
        attempt.memory.push_back(start);
        if (index < met.size()) {
            attempt.outcome = hpo::OutcomeKind::failed;
            attempt.failure = device_oom(6 * mib, met[index] - 2 * mib, 120 * mib);
            attempt.failure->memory.limit = met[index];
            hpo::explain_oom(*attempt.failure);
        }
        trial.attempts.push_back(attempt);
    }
    return trial;
}

std::vector<std::string> fixes(const std::vector<hpo::Trial>& trials) {
    const auto report = hpo::analysis::oom_report(trials, {});
    std::vector<std::string> texts;
    for (const auto& entry : report.cases) texts.push_back(entry.change ? entry.change->text() : "none");
    return texts;
}

}  // namespace

TEST_CASE("what ran out of what it was promised and came back with more of the device lacked nothing else, and needs no rule") {
    using Texts = std::vector<std::string>;
    std::vector<hpo::Trial> trials{promised_trial(0, {40 * mib, 60 * mib}, 90 * mib), promised_trial(1, {100 * mib}, std::nullopt)};
    CHECK(fixes(trials) == Texts{"a larger share of the device (90.00 MiB instead of 40.00 MiB)",
                                 "a larger share of the device (90.00 MiB instead of 60.00 MiB)",
                                 "a larger share of the device (all of it instead of 100.00 MiB)"});
    const auto report = hpo::analysis::oom_report(trials, {});
    CHECK(report.causes.at(hpo::OomCause::limit).count == 3);
    CHECK(report.rule_lua.empty());

    trials.push_back(our_trial(2, 128, "resnet"));  // its configuration is too large for any share
    CHECK_THAT(hpo::analysis::oom_report(trials, {}).rule_lua, Catch::Contains("plan.micro_batch // 2"));

    hpo::Trial interrupted = promised_trial(3, {40 * mib}, 60 * mib);
    interrupted.state = hpo::TrialState::fail;
    interrupted.attempts.back().outcome = hpo::OutcomeKind::interrupted;
    CHECK(fixes({interrupted}) == Texts{"a higher cap (at least 44.00 MiB)"});
    CHECK(hpo::analysis::oom_report(std::vector{interrupted}, {}).rule_lua.empty());
}

TEST_CASE("a cap of the plan's own, an equal one, and another plan are no larger share of the device") {
    hpo::Trial trial = promised_trial(0, {40 * mib}, 40 * mib);
    CHECK(fixes({trial}).at(0) == "another worker process");
    CHECK_FALSE(hpo::analysis::oom_report(std::vector{trial}, {}).rule_lua.empty());

    trial = promised_trial(0, {40 * mib}, std::nullopt);
    trial.attempts.back().memory.clear();  // nobody knows what it had
    CHECK(fixes({trial}).at(0) == "another worker process");

    trial = promised_trial(0, {40 * mib}, std::nullopt);
    for (hpo::Attempt& attempt : trial.attempts) attempt.plan.cap_bytes = 40 * mib;
    CHECK(fixes({trial}).at(0) == "another worker process");

    trial = promised_trial(0, {40 * mib}, 60 * mib);
    trial.attempts.back().plan.micro_batch = 32;
    CHECK(fixes({trial}).at(0) == "micro-batch 32 instead of 64");
    CHECK_FALSE(hpo::analysis::oom_report(std::vector{trial}, {}).rule_lua.empty());
}

TEST_CASE("an attempt that gave back too much met the cap that it set itself, and on a GPU only the failure tells a cap") {
    hpo::Trial settled = promised_trial(0, {40 * mib}, 60 * mib);
    hpo::MemoryMark& start = settled.attempts.front().memory.front();
    start.reading.limit = 100 * mib;
    hpo::MemoryMark mark = start;
    mark.name = hpo::settled_mark;
    mark.reading.limit = 40 * mib;
    settled.attempts.front().memory.push_back(mark);
    CHECK(fixes({settled}).at(0) == "a larger share of the device (60.00 MiB instead of 40.00 MiB)");

    for (hpo::Attempt& attempt : settled.attempts) attempt.memory.front().reading.limit.reset();
    CHECK(fixes({settled}).at(0) == "a larger share of the device (more than 40.00 MiB)");
}

TEST_CASE("a smaller micro-batch is named where a trial of at least the same demand ran with it, and nowhere else") {
    const auto changes = [](std::vector<hpo::Trial> trials) {
        const auto report = hpo::analysis::oom_report(trials, {});
        std::vector<std::string> what;
        for (const auto& entry : report.cases) what.push_back(entry.change ? entry.change->what : "none");
        return what;
    };
    hpo::Trial trial = our_trial(0, 256, "resnet");  // fails at 256 and 128
    trial.attempts.pop_back();
    trial.state = hpo::TrialState::pruned;
    CHECK(changes({trial}) == std::vector<std::string>(2, "none"));
    hpo::Trial other = our_trial(1, 256, "resnet");  // runs at 64
    other.attempts.erase(other.attempts.begin(), other.attempts.end() - 1);
    CHECK(changes({trial, other}) == std::vector<std::string>{"micro-batch 64 instead of 256", "micro-batch 64 instead of 128"});
    other.attempts.back().plan.micro_batch = 128;  // as another trial failed
    CHECK(changes({trial, other}) == std::vector<std::string>(2, "none"));
}

TEST_CASE("no out-of-memory is an answer with the highest peak") {
    std::vector<hpo::Trial> trials;
    for (std::int64_t i = 0; i < 5; ++i) trials.push_back(our_trial(i, 16 * (i + 1), "cnn"));
    const auto report = hpo::analysis::oom_report(trials, {});
    CHECK(report.oom_attempts == 0);
    CHECK(report.regions.empty());
    CHECK(report.rule_lua.empty());
    REQUIRE(report.highest_peak);
    CHECK(report.highest_peak->trial == 4);
    CHECK(report.highest_peak->bytes == 80 * 4 * mib);
    CHECK_FALSE(hpo::analysis::oom_report({}, {}).highest_peak);
}

TEST_CASE("where trials ran with a smaller micro-batch the Lua rule keeps the space whole") {
    const auto report = hpo::analysis::oom_report(our_study(), {});
    REQUIRE(report.regions.size() == 1);
    CHECK(report.regions[0].recovered == 9);
    CHECK_THAT(report.rule_lua, !Catch::Contains("require_fits") && Catch::Contains("9 of them ran in a later attempt"));
    CHECK_THAT(report.rule_lua, Catch::Contains("on_oom"));
}

TEST_CASE("the Lua rule loads in the sandbox and refuses exactly the regions that never ran") {
    auto trials = our_study();
    for (hpo::Trial& trial : trials) {  // under a recovery policy that gives up at once
        if (!trial.attempts[0].failure) continue;
        trial.attempts.resize(1);
        trial.state = hpo::TrialState::pruned;
        trial.values.clear();
    }
    const auto report = hpo::analysis::oom_report(trials, {});
    const std::string script = "local rule = (function()\n" + report.rule_lua +
                               "end)()\nlocal hpo = require 'hpo'\nreturn hpo.study { name = 's', trainer = 't', objective = { metric = "
                               "'m', direction = 'minimize' }, on_oom = rule.on_oom,\n"
                               "space = function(trial)\n trial:categorical('model', { 'cnn', 'resnet' })\n trial:int('batch_size', 16, "
                               "256, { step = 16 })\n rule.require_fits(trial)\nend }";
    CAPTURE(script);
    const auto study = hpo::script::StudyScript::from_text(script, "rule.lua");
    struct Fixed : hpo::ParamSource {
        const hpo::ParamSet* params = nullptr;
        double draw(const std::string& name, const hpo::Distribution&, const hpo::Narrowing&, const hpo::ParamSet&) override {
            return params->find(name)->internal;
        }
    };
    for (const hpo::Trial& trial : trials) {
        Fixed source;
        source.params = &trial.params;
        hpo::SpaceTrial space_trial{source, 0};
        bool refused = false;
        try {
            study.space()(space_trial);
        } catch (const hpo::SpaceRejection& rejection) {
            refused = true;
            CHECK_THAT(rejection.reason, Catch::Contains("9 of 9 trials ran out of memory"));
        }
        CHECK(refused == hpo::analysis::holds(report.regions[0].region, trial.params));
    }
    const hpo::Trial& failed = trials[7];  // resnet, 128
    const hpo::History history{};
    const auto answer =
        study.answer({.trial = failed, .attempt = failed.attempts[0], .failure = *failed.attempts[0].failure, .history = history});
    REQUIRE(answer);
    CHECK(answer->action == hpo::Recovery::Action::retry);
    CHECK(answer->plan.micro_batch == 64);
}

TEST_CASE("names with quotes and line ends survive in the rule") {
    hpo::analysis::OomRegion region{.region = {{.relation = hpo::analysis::Condition::Relation::one_of,
                                                .param = "a\"b\\c\nd",
                                                .choices = {hpo::Value{std::string{"x\"y"}}, hpo::Value{true}}}},
                                    .trials = 3,
                                    .oom = 3};
    const std::vector<hpo::analysis::OomRegion> regions{region};
    const std::string rule = hpo::analysis::lua_rule(regions, {hpo::OomCause::fragmentation, hpo::OomCause::neighbour}, true);
    CHECK_THAT(
        rule,
        Catch::Contains(
            "if failure.cause == \"neighbour\" and failure.attempt <= 3 then\n    return hpo.retry { wait = true, timeout = \"10min\" }"));
    const std::string script = "local rule = (function()\n" + rule +
                               "end)()\nlocal hpo = require 'hpo'\nassert(rule.require_fits and rule.on_oom)\nreturn hpo.study { name = "
                               "'s', trainer = 't', objective = { metric = 'm', direction = 'minimize' }, space = function(trial) end }";
    CHECK_NOTHROW(hpo::script::StudyScript::from_text(script, "rule.lua"));
}

TEST_CASE("no rule shrinks a batch that hpo does not know") {
    const std::set<hpo::OomCause> capacity{hpo::OomCause::capacity};
    CHECK(hpo::analysis::lua_rule({}, capacity, false).empty());
    CHECK_THAT(hpo::analysis::lua_rule({}, {hpo::OomCause::neighbour}, false),
               Catch::Contains("wait = true") && !Catch::Contains("micro_batch"));
    const std::vector<hpo::analysis::OomRegion> regions{
        {.region = {{.relation = hpo::analysis::Condition::Relation::at_least, .param = "batch", .bound = 64}}, .trials = 3, .oom = 3}};
    const std::string rule = hpo::analysis::lua_rule(regions, capacity, false);
    CHECK_THAT(rule, Catch::Contains("\nreturn { require_fits = require_fits }\n") && !Catch::Contains("on_oom"));
    CHECK_THAT(hpo::analysis::lua_rule(regions, capacity, true),
               Catch::Contains("\nreturn { require_fits = require_fits, on_oom = on_oom }\n"));
}

TEST_CASE("an attempt that got the whole device was neither predicted to fit nor launched without a thought") {
    std::vector<hpo::Trial> trials{our_trial(0, 128, "resnet")};
    for (hpo::Attempt& attempt : trials[0].attempts) {
        attempt.estimate->source = "alone";
        attempt.estimate->need = 600 * mib;
    }
    const auto quality = hpo::analysis::oom_report(trials, {}).prediction;
    CHECK(quality.attempts == 0);
    CHECK(quality.oom_attempts_predicted_to_fit == 0);
    CHECK(quality.oom_attempts_alone == trials[0].attempts.size() - 1);
    CHECK(quality.oom_attempts_without_prediction == 0);
}

TEST_CASE("retries that waited are counted, and what did not help is not advised again") {
    // Each trial met a full device, waited, and ran in its last attempt, or did not.
    const auto waited = [](std::int64_t number, bool helped) {
        hpo::Trial trial = our_trial(number, 128, "resnet");
        trial.attempts.resize(2);
        trial.attempts[0].failure = hpo::Failure{.kind = hpo::FailureKind::out_of_memory, .cause = hpo::OomCause::neighbour};
        trial.attempts[0].decision = "out of memory: retry when enough of the device is free (the script's rule)";
        trial.attempts[1] = trial.attempts[0];
        trial.attempts[1].index = 1;
        trial.attempts[1].decision = "out_of_memory";
        if (helped) {
            trial.attempts[1].failure.reset();
            trial.attempts[1].outcome = hpo::OutcomeKind::complete;
        }
        trial.state = helped ? hpo::TrialState::complete : hpo::TrialState::fail;
        return trial;
    };
    std::vector<hpo::Trial> trials;
    for (std::int64_t number = 0; number < 8; ++number) trials.push_back(waited(number, number < 2));
    const auto record = hpo::analysis::wait_record(trials);
    CHECK(record.retries == 8);
    CHECK(record.helped == 2);
    const auto report = hpo::analysis::oom_report(trials, {});
    CHECK_THAT(report.rule_lua, !Catch::Contains("wait = true") && Catch::Contains("of 8 retries that waited, 6 failed again"));
    for (const auto& entry : report.cases) {
        if (entry.change) CHECK_THAT(entry.change->what, !Catch::Contains("waiting"));
    }
    for (hpo::Trial& trial : trials) trial = waited(trial.number, trial.number < 5);
    CHECK_THAT(hpo::analysis::oom_report(trials, {}).rule_lua, Catch::Contains("wait = true"));
}

TEST_CASE("a smaller number is not advised where another cure was measured") {
    const auto change = [](std::string what, std::string param, hpo::analysis::Change::Basis basis) {
        return hpo::analysis::Change{
            .basis = basis, .what = std::move(what), .bytes = {}, .witness = {}, .share = {}, .param = std::move(param), .at_most = 8};
    };
    using Basis = hpo::analysis::Change::Basis;
    hpo::analysis::OomCase cured, asked;
    cured.failed.failure.cause = asked.failed.failure.cause = hpo::OomCause::fragmentation;
    cured.change = change("with expandable segments", "", Basis::attempt);
    asked.change = change("batch 8 instead of 64", "batch", Basis::trial);
    std::vector<hpo::analysis::OomCase> cases{cured, asked};
    hpo::analysis::detail::prefer_measured_cures(cases);
    CHECK(cases[1].change->what == "with expandable segments");
    CHECK(cases[1].change->basis == Basis::cure);
    cured.change = change("micro-batch 8 instead of 64", "micro-batch", Basis::attempt);
    cases = {cured, asked};
    hpo::analysis::detail::prefer_measured_cures(cases);
    CHECK(cases[1].change->what == "batch 8 instead of 64");
}

TEST_CASE("regions are not learned from chance") {
    std::mt19937_64 random{7};
    int found = 0;
    for (int round = 0; round < 40; ++round) {
        std::vector<hpo::ParamSet> params(60);
        std::vector<hpo::analysis::Example> examples;
        for (auto& set : params) {
            set.set("width", hpo::IntDistribution{1, 100, false, 1}, static_cast<double>(1 + random() % 100));
            set.set("depth", hpo::IntDistribution{1, 10, false, 1}, static_cast<double>(1 + random() % 10));
            set.set("heads", hpo::IntDistribution{1, 8, false, 1}, static_cast<double>(1 + random() % 8));
        }
        for (const auto& set : params) examples.push_back({.params = &set, .positive = random() % 5 == 0, .peak_bytes = {}});
        found += hpo::analysis::learn_regions(examples).empty() ? 0 : 1;
    }
    CHECK(found <= 4);
}

TEST_CASE("a region of two conditions is found exactly") {
    std::mt19937_64 random{11};
    std::vector<hpo::ParamSet> params(300);
    std::vector<hpo::analysis::Example> examples;
    for (auto& set : params) {
        set.set("train.batch_size", hpo::IntDistribution{8, 64, false, 8}, static_cast<double>(8 * (1 + random() % 8)));
        set.set("tok.max_length", hpo::IntDistribution{128, 512, false, 32}, static_cast<double>(128 + 32 * (random() % 13)));
        set.set("optim.lr", hpo::FloatDistribution{1e-6, 1e-3, true, {}}, 1e-6 * static_cast<double>(1 + random() % 1000));
    }
    for (const auto& set : params)
        examples.push_back(
            {.params = &set, .positive = *set.number("train.batch_size") >= 40 && *set.number("tok.max_length") >= 320, .peak_bytes = {}});
    const auto regions = hpo::analysis::learn_regions(examples);
    REQUIRE(regions.size() == 1);
    CHECK(hpo::analysis::describe(regions[0].region) == "tok.max_length >= 320 and train.batch_size >= 40");
    CHECK(regions[0].positives == regions[0].examples);
}

TEST_CASE("a message that a complete trial keeps is read, and nothing is said to have recovered") {
    const std::string message =
        "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 23.69 GiB total capacity; 20.00 GiB already allocated)";
    std::vector<hpo::Trial> trials(10);
    for (std::size_t i = 0; i < trials.size(); ++i) {
        trials[i].number = static_cast<std::int64_t>(i);
        trials[i].state = hpo::TrialState::complete;
        trials[i].values = {0.5};
    }
    trials[1].user_attributes["error"] = hpo::json_quote(message);
    trials[2].user_attributes["exception"] = hpo::json_quote("torch.OutOfMemoryError: " + message);
    trials[3].user_attributes["traceback"] =
        hpo::json_quote("Traceback (most recent call last):\n  File \"a.py\", line 1\ntorch.OutOfMemoryError: " + message);
    trials[4].user_attributes["oom"] = "true";
    trials[5].user_attributes["note"] = hpo::json_quote(message);
    trials[6].user_attributes["error"] = "\"rmse\"";
    const auto report = hpo::analysis::oom_report(trials, {});
    CHECK(report.oom_trials == 4);
    CHECK(report.caught_trials == 4);
    CHECK(report.recovered_trials == 0);
    for (hpo::Trial& trial : trials) trial.user_attributes["error"] = hpo::json_quote(message);  // what each trial says is a setting
    CHECK(hpo::analysis::oom_report(trials, {}).oom_trials < 5);
}

TEST_CASE("a trial that completed with as much of everything refutes capacity, whatever its learning rate was") {
    std::vector<hpo::Trial> trials;
    const auto add = [&](int batch, double lr, double dropout, bool fits) -> hpo::Trial& {
        hpo::Trial trial;
        trial.number = static_cast<std::int64_t>(trials.size());
        trial.params.set("batch_size", hpo::IntDistribution{1, 1024}, batch);
        trial.params.set("hidden", hpo::IntDistribution{1, 4096}, 768);
        trial.params.set("lr", hpo::FloatDistribution{1e-6, 1}, lr);
        trial.params.set("drop_path", hpo::FloatDistribution{0, 1}, dropout);
        trial.state = fits ? hpo::TrialState::complete : hpo::TrialState::fail;
        if (fits) trial.values = {0.5};
        else
            trial.user_attributes["error_message"] = hpo::json_quote(
                "CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 23.69 GiB of which 100.00 MiB is free. Of "
                "the "
                "allocated memory 22.80 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.");
        trials.push_back(trial);
        return trials.back();
    };
    for (int i = 0; i < 10; ++i) add(32 + 8 * (i % 4), 1e-4 * (i + 1), 0.01 * (i + 1), true);
    add(56, 3.3e-5, 0.123, false);  // as large as trials that ran
    add(48, 7.7e-5, 0.045, false);
    add(256, 5.5e-5, 0.3, false);  // larger than any
    const auto report = hpo::analysis::oom_report(trials, {});
    CHECK(report.causes.at(hpo::OomCause::leak).count == 2);
    CHECK(report.causes.at(hpo::OomCause::capacity).count == 1);
}

TEST_CASE("memory that nobody can have left before is no leak") {
    const auto study = [](const std::string& name, double completed, double failed, const std::string& ran_by,
                          const std::string& failed_by) {
        std::vector<hpo::Trial> trials(6);
        for (std::size_t i = 0; i < trials.size(); ++i) {
            hpo::Trial& trial = trials[i];
            const bool fits = i != 3;
            trial.number = static_cast<std::int64_t>(i);
            trial.started = hpo::Time{std::chrono::microseconds{1'000'000 * static_cast<std::int64_t>(i)}};
            trial.params.set("batch_size", hpo::IntDistribution{1, 1024}, 32);
            trial.params.set("lr", hpo::FloatDistribution{0, 1}, 0.1 * static_cast<double>(i + 1));
            trial.params.set(name, hpo::FloatDistribution{0, 1}, fits ? completed : failed);
            trial.user_attributes["pid"] = fits ? ran_by : failed_by;
            trial.state = fits ? hpo::TrialState::complete : hpo::TrialState::fail;
            if (fits) trial.values = {0.5};
            else
                trial.user_attributes["error_message"] = hpo::json_quote(
                    "CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 23.69 GiB of which 100.00 MiB is "
                    "free. "
                    "Of the allocated memory 22.80 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.");
        }
        return trials;
    };
    const auto is_leak = [](const std::vector<hpo::Trial>& trials) {
        return hpo::analysis::oom_report(trials, {}).causes.contains(hpo::OomCause::leak);
    };
    CHECK(is_leak(study("dropout", 0.2, 0.1, "1", "1")));
    CHECK_FALSE(is_leak(study("dropout", 0.2, 0.1, "1", "2")));        // the first of its process
    CHECK_FALSE(is_leak(study("token_dropout", 0.2, 0.1, "1", "1")));  // what completed skipped more of the work
    CHECK(is_leak(study("token_dropout", 0.1, 0.2, "1", "1")));
    auto other_machine = study("dropout", 0.2, 0.1, "1", "1");
    for (hpo::Trial& trial : other_machine) trial.user_attributes["gpu"] = trial.state == hpo::TrialState::fail ? "\"small\"" : "\"large\"";
    CHECK_FALSE(is_leak(other_machine));
}

TEST_CASE("what was in use is no leak if a trial as large ran at once afterwards, in the same process") {
    const auto study = [](std::int64_t pause_us) {
        constexpr std::array<int, 7> batches{37, 47, 21, 35, 58, 58, 11};
        constexpr std::int64_t duration_us = 300'000;
        std::vector<hpo::Trial> trials(batches.size());
        for (std::size_t i = 0; i < trials.size(); ++i) {
            hpo::Trial& trial = trials[i];
            trial.number = static_cast<std::int64_t>(i);
            trial.started = hpo::Time{std::chrono::microseconds{trial.number * (duration_us + pause_us)}};
            trial.completed = *trial.started + std::chrono::microseconds{duration_us};
            trial.params.set("batch_size", hpo::IntDistribution{4, 64}, batches.at(i));
            if (i == 2 || i == 5) {
                trial.state = hpo::TrialState::fail;
                trial.user_attributes["error_message"] = hpo::json_quote(
                    "CUDA out of memory. Tried to allocate 200.00 MiB. GPU 0 has a total capacity of 15.48 GiB of which 19.88 MiB is free. "
                    "Of the allocated memory 14.90 GiB is allocated by PyTorch, and 80.00 MiB is reserved by PyTorch but unallocated.");
            } else {
                trial.state = hpo::TrialState::complete;
                trial.values = {0.5};
            }
        }
        return trials;
    };
    const std::vector<hpo::Trial> at_once = study(20'000);
    const auto report = hpo::analysis::oom_report(at_once, {});
    CHECK(report.causes.at(hpo::OomCause::capacity).count == 2);
    for (const auto& entry : report.cases) CHECK_FALSE(entry.change);  // larger ones ran, so a smaller one is not known to help
    const std::vector<hpo::Trial> with_pauses = study(5'000'000);      // long enough to start another process
    CHECK(hpo::analysis::oom_report(with_pauses, {}).causes.at(hpo::OomCause::leak).count == 2);
}

TEST_CASE("a region of a cause that no rule answers is shown, and refused by none") {
    std::vector<hpo::Trial> trials(40);
    for (std::size_t i = 0; i < trials.size(); ++i) {
        hpo::Trial& trial = trials[i];
        const bool fits = i % 4 != 3;
        trial.number = static_cast<std::int64_t>(i);
        trial.params.set("num_workers", hpo::IntDistribution{0, 16}, fits ? static_cast<double>(i % 3) : 12);
        trial.state = fits ? hpo::TrialState::complete : hpo::TrialState::fail;
        if (fits) trial.values = {0.5};
        else trial.user_attributes["error_message"] = "\"RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. \"";
    }
    const auto report = hpo::analysis::oom_report(trials, {});
    CHECK(report.causes.at(hpo::OomCause::host).count == 10);
    REQUIRE(report.regions.size() == 1);
    CHECK(report.regions[0].oom == 10);
    CHECK_THAT(report.rule_python, !Catch::Contains("TrialPruned(\"10 of 10"));
}

TEST_CASE("values that are not numbers, odd attributes and empty trials do no harm") {
    std::vector<hpo::Trial> trials(6);
    for (std::size_t i = 0; i < trials.size(); ++i) trials[i].number = static_cast<std::int64_t>(i);
    trials[0].state = hpo::TrialState::complete;
    trials[0].values = {std::nan("")};
    trials[1].state = hpo::TrialState::complete;
    trials[1].values = {-HUGE_VAL};
    trials[2].state = hpo::TrialState::fail;
    trials[2].user_attributes = {
        {"oom", "\"yes\""}, {"error_message", "{\"not\": \"a text\"}"}, {"gpu_memory_start", "[1, 2"}, {"peak_memory_gb", "NaN"}};
    trials[3].state = hpo::TrialState::complete;
    trials[3].values = {1.0};
    trials[3].user_attributes = {{"note", "\"CUDA out of memory in an earlier trial\""}, {"oom", "false"}};
    trials[4].state = hpo::TrialState::pruned;
    trials[4].user_attributes = {{"prune_reason", "\"oom_prevention: estimated 75.9GB > 22.0GB limit\""}};
    const auto report = hpo::analysis::oom_report(trials, {});
    CHECK(report.oom_trials == 1);
    CHECK(report.causes.at(hpo::OomCause::unknown).count == 1);
    CHECK(report.unexplained_infinite == 2);
    CHECK(report.others.at("prevented").count == 1);
    CHECK(report.prediction.refused_before_launch == 1);
    CHECK_FALSE(report.capacity_bytes);
    CHECK_FALSE(report.cases.front().failed.failure.requested_bytes);
    for (const char* peak : {"-1", "-0.5", "1e6", "1e300", "NaN", "Infinity", "\"12\"", "null", "[1]"}) {
        CAPTURE(peak);
        trials[3].user_attributes["peak_memory_gb"] = peak;
        CHECK_FALSE(hpo::analysis::peak_of(trials[3]));
    }
    trials[3].user_attributes["peak_memory_gb"] = "0.5";
    CHECK(hpo::analysis::peak_of(trials[3]) == 500'000'000);
}

TEST_CASE("attribute texts are read as JSON") {
    using namespace hpo::analysis;
    CHECK(hpo::json_string(R"("a\"b\\\n\u00e9\ud83d\ude00")") == "a\"b\\\n\u00e9\U0001F600");
    CHECK_FALSE(hpo::json_string("12"));
    CHECK_FALSE(hpo::json_string("\"open"));
    CHECK_FALSE(hpo::json_string("\"bad \\u12\""));
    CHECK(json_number("1.5") == 1.5);
    CHECK_FALSE(json_number("NaN"));
    CHECK_FALSE(json_number("1.5x"));
    CHECK(json_member_number(R"({"allocated": 0.02, "free": 23.09})", "free") == 23.09);
    CHECK_FALSE(json_member_number(R"({"allocated": 0.02})", "free"));
}

TEST_CASE("twenty thousand trials are analysed in seconds") {
    std::mt19937_64 random{3};
    std::vector<hpo::Trial> trials;
    trials.reserve(20000);
    for (std::int64_t i = 0; i < 20000; ++i)
        trials.push_back(our_trial(i, 16 * static_cast<std::int64_t>(1 + random() % 16), random() % 2 == 0 ? "cnn" : "resnet"));
    const std::clock_t begin = std::clock();
    const auto report = hpo::analysis::oom_report(trials, {});
    const auto seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    CHECK(report.oom_trials > 5000);
    CHECK(seconds < 20);  // an unoptimised, sanitised build; an optimised one takes a tenth
}

TEST_CASE("what a leak ends at small sizes is no capacity, though all failures are the smaller trials") {
    const auto study = [](const std::vector<int>& failed_layers, const std::string& extra) {
        std::vector<hpo::Trial> trials;
        const auto add = [&](int batch, int hidden, int layers, bool fits) {
            hpo::Trial trial;
            trial.number = static_cast<std::int64_t>(trials.size());
            trial.params.set("batch_size", hpo::IntDistribution{8, 64}, batch);
            trial.params.set("hidden", hpo::IntDistribution{128, 1024, false, 128}, hidden);
            trial.params.set("layers", hpo::IntDistribution{2, 12}, layers);
            trial.params.set("lr", hpo::FloatDistribution{1e-5, 1e-1, true}, fits ? 1e-5 * static_cast<double>(trials.size() + 1) : 2e-3);
            if (!extra.empty()) trial.params.set(extra, hpo::FloatDistribution{0, 1}, fits ? 0.2 : 0.1);
            trial.state = fits ? hpo::TrialState::complete : hpo::TrialState::fail;
            if (fits) trial.values = {0.5};
            else
                trial.user_attributes["error"] = hpo::json_quote(
                    "CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 23.69 GiB of which 120.00 MiB is "
                    "free. "
                    "Of the allocated memory 22.60 GiB is allocated by PyTorch, and 130.00 MiB is reserved by PyTorch but unallocated.");
            trials.push_back(std::move(trial));
        };
        for (int i = 0; i < 12; ++i) add(32, 1024, 12, true);
        for (const int layers : failed_layers) add(16, 512, layers, false);
        for (int i = 0; i < 4; ++i) add(8, 256, 11, true);
        return trials;
    };
    using hpo::OomCause;
    for (const std::vector<int>& layers : {std::vector{2, 3, 4, 3, 2, 4}, std::vector<int>(6, 12), std::vector<int>(6, 6)}) {
        for (const std::string extra : {"", "drop_path", "drop_path_rate", "stochastic_depth_prob"}) {
            CAPTURE(layers, extra);
            auto trials = study(layers, extra);
            CHECK(hpo::analysis::oom_report(trials, {}).causes.at(OomCause::leak).count == 6);
            // Only measured peaks can say that more layers need less.
            for (std::size_t i = 0; i < trials.size(); ++i) {
                if (trials[i].state != hpo::TrialState::complete) continue;
                trials[i].params.set("layers", hpo::IntDistribution{2, 12}, static_cast<int>(5 + i % 8));
                trials[i].user_attributes["peak_memory_gb"] = std::to_string(20.0 / (5 + static_cast<double>(i % 8)));
            }
            if (layers.front() != 2) continue;  // trials with as many layers refute the others
            CHECK_FALSE(hpo::analysis::oom_report(trials, {}).causes.contains(OomCause::leak));
        }
    }
    // If nearly all are leaks, the one that no other trial refutes is not said to be too large.
    auto trials = study(std::vector<int>(6, 6), "");
    trials[17].params.set("batch_size", hpo::IntDistribution{8, 64}, 64);
    const auto report = hpo::analysis::oom_report(trials, {});
    CHECK(report.causes.at(OomCause::leak).count == 5);
    CHECK(report.causes.at(OomCause::unknown).count == 1);
}

namespace {

/// A trial whose attempt had a process of its own, and met a device that its message calls full.
hpo::Trial program_trial(std::int64_t number, double batch, bool fails) {
    hpo::Trial trial;
    trial.number = number;
    trial.params.set("batch", hpo::IntDistribution{256, 1024, false, 256}, batch);
    trial.params.set("lr", hpo::FloatDistribution{1e-5, 1e-1, true, {}}, 1e-3);
    trial.started = hpo::Time{std::chrono::microseconds{(1000 + number * 10) * 1'000'000}};
    trial.completed = *trial.started + std::chrono::microseconds{8'000'000};
    hpo::Attempt attempt;
    attempt.worker_pid = 100 + number;
    attempt.started = trial.started;
    attempt.seconds = 2;
    attempt.device_name = "cuda:0";
    attempt.capacity_bytes = 10 * 1024 * mib;
    attempt.outcome = fails ? hpo::OutcomeKind::failed : hpo::OutcomeKind::complete;
    trial.state = fails ? hpo::TrialState::fail : hpo::TrialState::complete;
    if (fails) attempt.failure = device_oom(512 * mib, 9 * 1024 * mib + 900 * mib, 10 * 1024 * mib);
    else trial.values = {0.5};
    trial.attempts.push_back(attempt);
    return trial;
}

}  // namespace

TEST_CASE("a batch is not too large for a device on which a larger one ran, and no region says that small ones fail") {
    std::vector<hpo::Trial> trials;
    for (int i = 0; i < 12; ++i) trials.push_back(program_trial(i, i % 2 == 0 ? 256 : 512, true));
    for (int i = 12; i < 20; ++i) trials.push_back(program_trial(i, i % 2 == 0 ? 512 : 768, false));
    const auto report = hpo::analysis::oom_report(trials, {});
    REQUIRE(report.cases.size() == 12);
    for (const auto& entry : report.cases) {
        CHECK(entry.failed.failure.cause == hpo::OomCause::capacity);  // its process began with it, so it filled the device itself
        CHECK_THAT(entry.failed.failure.evidence, Catch::Contains("ran to its end with at least as much"));
        CHECK_FALSE(entry.change);
    }
    CHECK(report.regions.empty());
    std::vector<hpo::Trial> of_unknown_size = trials;
    for (hpo::Trial& trial : of_unknown_size) trial.attempts[0].capacity_bytes.reset();
    CHECK(hpo::analysis::oom_report(of_unknown_size, {}).cases.front().failed.larger_ran);
    // A process that ran others before may still hold their memory, unless a trial as large ran there afterwards.
    std::vector<hpo::Trial> in_one_process;
    for (int i = 0; i < 20; ++i) {  // what ran well has no start in a store that is read in brief
        in_one_process.push_back(program_trial(i, i % 2 == 0 ? 512 : 256 + 512 * static_cast<int>(i < 8), i >= 8));
        in_one_process.back().attempts[0].worker_pid = 100;
        if (i < 8) in_one_process.back().attempts[0].started.reset();
    }
    const auto of_one_process = hpo::analysis::oom_report(in_one_process, {});
    CHECK(of_one_process.causes.at(hpo::OomCause::unknown).count == 12);
    in_one_process.push_back(program_trial(20, 768, false));
    in_one_process.back().attempts[0].worker_pid = 100;
    const auto refuted = hpo::analysis::oom_report(in_one_process, {});
    CHECK(refuted.causes.at(hpo::OomCause::capacity).count == 12);
    CHECK(refuted.regions.empty());
    for (const auto& entry : refuted.cases) CHECK_FALSE(entry.change);
    // What ran on more memory, or on another device, refutes nothing.
    for (hpo::Trial& trial : trials) {
        if (trial.state == hpo::TrialState::complete) trial.attempts[0].capacity_bytes = 24 * 1024 * mib;
    }
    CHECK(hpo::analysis::oom_report(trials, {}).cases.front().failed.failure.cause == hpo::OomCause::capacity);
}

TEST_CASE("no smaller number is advised where everything failed from some moment on, whatever its parameters") {
    constexpr std::array<double, 20> batches{512, 1024, 256, 768, 256, 1024, 512, 768, 512, 256,
                                             768, 512,  256, 768, 512, 256,  768, 512, 256, 768};
    std::vector<hpo::Trial> trials;
    for (int i = 0; i < 20; ++i) {
        trials.push_back(program_trial(i, batches[static_cast<std::size_t>(i)], i >= 8));
        hpo::Attempt& attempt = trials.back().attempts[0];
        attempt.worker_pid = 100;
        attempt.plan.device = "cpu";  // the program uses a device of which hpo does not know
        attempt.capacity_bytes.reset();
        attempt.peak_reserved = (30 - i) * mib;  // so the host's peaks fall with time, and say nothing about the device
    }
    trials.push_back(program_trial(20, 1280, true));  // no trial as large ran
    trials.back().attempts[0].plan.device = "cpu";
    trials.back().attempts[0].capacity_bytes.reset();
    const auto report = hpo::analysis::oom_report(trials, {});
    REQUIRE(report.cases.size() == 13);
    CHECK(report.causes.at(hpo::OomCause::unknown).count == 12);
    for (const auto& entry : report.cases) CHECK_FALSE(entry.change);
    CHECK(report.regions.empty());
}

TEST_CASE("after a change of the device's size a region is of the device that the study has now") {
    std::vector<hpo::Trial> trials;
    for (int i = 0; i < 24; ++i) {
        const bool was_small = i < 12;
        const double batch = 256 * (1 + i % 4);
        trials.push_back(program_trial(i, batch, was_small && batch >= 768));
        trials.back().attempts[0].capacity_bytes = (was_small ? 10 : 40) * 1024 * mib;
    }
    CHECK(hpo::analysis::oom_report(trials, {}).regions.empty());  // the failures were on the smaller one
    trials.resize(12);
    CHECK(hpo::analysis::oom_report(trials, {}).regions.size() == 1);
}

TEST_CASE("less is no advice for a trial that failed although a larger one ran") {
    const std::vector<hpo::Trial> trials{program_trial(0, 512, false), program_trial(1, 256, true), program_trial(2, 128, false)};
    const auto report = hpo::analysis::oom_report(trials, {});
    REQUIRE(report.cases.size() == 1);
    CHECK(report.cases[0].failed.larger_ran == 0);
    CHECK_FALSE(report.cases[0].change);
}

TEST_CASE("a number whose name says nothing is no remedy where a trial ran with as much of everything beyond it") {
    const auto study = [](double last_x) {
        const std::vector<std::pair<double, int>> params{{0.417022, 8}, {0.396767, 32}, {0.417305, 8}, {0.800745, 8}, {last_x, 32}};
        std::vector<hpo::Trial> trials(params.size());
        for (std::size_t i = 0; i < trials.size(); ++i) {
            hpo::Trial& trial = trials[i];
            trial.number = static_cast<std::int64_t>(i);
            trial.started = hpo::Time{std::chrono::microseconds{trial.number * 20'000'000}};
            trial.completed = *trial.started + std::chrono::microseconds{5'000'000};
            trial.params.set("x", hpo::FloatDistribution{0, 1, false, {}}, params[i].first);
            trial.params.set("batch", hpo::CategoricalDistribution{{hpo::Value{std::int64_t{8}}, hpo::Value{std::int64_t{32}}}},
                             params[i].second == 8 ? 0 : 1);
            trial.state = hpo::TrialState::complete;
            trial.values = {0.5};
        }
        for (const std::size_t failed : {std::size_t{2}, std::size_t{3}}) {
            trials[failed].state = hpo::TrialState::fail;
            trials[failed].user_attributes["error_message"] = hpo::json_quote(
                "CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 23.65 GiB of which 1.10 GiB is free. Of the "
                "allocated memory 21.90 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.");
        }
        return trials;
    };
    for (const auto& entry : hpo::analysis::oom_report(study(0.988861), {}).cases) {
        INFO((entry.change ? entry.change->what : std::string{}));
        CHECK_FALSE(entry.change);
    }
    const auto open = hpo::analysis::oom_report(study(0.1), {});  // nothing ran beyond the failures
    REQUIRE(open.cases.size() == 2);
    CHECK(open.cases[0].change);
}

TEST_CASE("words about memory with which a program pruned a trial of ours are its out-of-memory") {
    std::vector<hpo::Trial> trials;
    for (const char* text : {"OOM", "cuda oom, batch too large (b=44)", "skipping: out of memory predicted", "val loss above 3", ""}) {
        trials.push_back(program_trial(static_cast<std::int64_t>(trials.size()), 64, false));
        trials.back().state = hpo::TrialState::pruned;
        trials.back().user_attributes["prune_reason"] = hpo::json_quote(std::string{hpo::pruned_by_program} + (*text ? ": " : "") + text);
    }
    trials.push_back(program_trial(5, 64, false));
    trials.back().state = hpo::TrialState::pruned;
    trials.back().user_attributes["prune_reason"] = hpo::json_quote("median pruner: out of memory is not meant here");
    const auto report = hpo::analysis::oom_report(trials, {});
    REQUIRE(report.cases.size() == 2);
    for (const auto& entry : report.cases) CHECK_FALSE(entry.failed.recovered);
    CHECK(report.prediction.refused_before_launch == 1);
}

TEST_CASE("a trial that failed without a word has no kind of failure") {
    std::vector<hpo::Trial> trials{program_trial(0, 256, true)};
    trials[0].attempts[0].failure = hpo::classify_text({.type = {}, .message = {}});
    const auto cases = hpo::analysis::failure_cases(trials);
    REQUIRE(cases.size() == 1);
    CHECK(cases[0].silent());
    CHECK(hpo::analysis::failure_name(cases[0]) == "no_message");
}
