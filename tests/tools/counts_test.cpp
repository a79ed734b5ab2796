// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;
using Catch::Contains;
using nlohmann::json;

namespace {

const std::string bowl = R"(
local hpo = require "hpo"
return hpo.study {
  name = "bowl", trainer = "quadratic", objective = { metric = "value", direction = "minimize" },
  sampler = "random", pruner = "none", recovery = "fail", trials = 3,
  space = function(trial) trial:float("x", -5, 5) trial:float("y", -5, 5) end,
}
)";

/// A study of that script whose trials are written by hand.
class HandWritten {
public:
    explicit HandWritten(const Workshop& workshop)
        : store_{workshop.path("hpo.db").string()},
          study_{store_.open_study("bowl", std::vector{hpo::Direction::minimize}, hpo::Store::Open::create)} {}

    /// A trial whose first attempts ran out of memory; `attempts` 0: another program's.
    void add(hpo::TrialState state, int attempts, int out_of_memory, bool interrupted = false, double violation = 0) {
        hpo::Trial trial = store_.begin_trial(study_.id, std::nullopt);
        for (const char* name : {"x", "y"}) trial.params.set(name, hpo::FloatDistribution{-5, 5, false, {}}, 1);
        store_.set_params(trial);
        for (int index = 0; index < attempts; ++index) {
            hpo::Attempt attempt;
            attempt.index = index;
            store_.begin_attempt(trial, attempt);
            attempt.outcome = interrupted ? hpo::OutcomeKind::interrupted : hpo::OutcomeKind::complete;
            if (index < out_of_memory) {
                attempt.outcome = hpo::OutcomeKind::failed;
                attempt.failure = hpo::Failure{.kind = hpo::FailureKind::out_of_memory, .message = "CPU out of memory."};
            }
            trial.attempts.push_back(attempt);
            store_.end_attempt(trial, attempt);
        }
        trial.state = state;
        if (state == hpo::TrialState::complete) trial.values = {-1};  // better than any that the script can find
        if (violation > 0) trial.constraints["memory"] = violation;
        if (interrupted) trial.user_attributes[std::string{hpo::lost_attribute}] = "true";
        store_.finish(trial);
    }

private:
    hpo::store::Sqlite store_;
    hpo::Study study_;
};

CommandResult run_bowl(const Workshop& workshop, std::vector<std::string> more = {}) {
    std::vector<std::string> words{tool("hpo-tune"), "run", "bowl.lua", "--progress", "none"};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(workshop, words);
}

}  // namespace

TEST_CASE("a run ends as any other where another program ran the best trial") {
    const Workshop workshop;
    workshop.write("bowl.lua", bowl);
    HandWritten{workshop}.add(hpo::TrialState::complete, 0, 0);
    const auto result = run_bowl(workshop);
    INFO(result.error);
    CHECK(result.status == 0);
    CHECK_THAT(result.out, Contains("study bowl: 3 complete; 0 attempts out of memory, 0 trials recovered\nbest: value -1 in trial 0\n"));
    CHECK(json::parse(run_bowl(workshop, {"--json"}).out)["best"]["trial"] == 0);
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"summary"}, {"trials"}, {"trial", "0"}, {"best"}, {"best", "--top", "3"}, {"oom"}, {"memory"}}) {
        CAPTURE(words.front());
        std::vector<std::string> command{tool("hpo-analyze")};
        command.insert(command.end(), words.begin(), words.end());
        CHECK(run_command(workshop, command).status == 0);
    }
    CHECK(run_command(workshop, {tool("hpo-tune"), "try", "bowl.lua", "--trial", "0"}).status == 0);
}

TEST_CASE("all tools tell the same counts of a study with interrupted and infeasible trials") {
    using enum hpo::TrialState;
    const Workshop workshop;
    workshop.write("bowl.lua", bowl);
    {
        HandWritten study{workshop};
        study.add(complete, 1, 0);
        study.add(complete, 3, 2);            // recovered
        study.add(pruned, 2, 2, false, 0.5);  // gave up: infeasible
        study.add(fail, 2, 1, true);          // interrupted in its second attempt
    }
    const auto ran = run_bowl(workshop);  // three have ended: nothing is left to run
    INFO(ran.error);
    CHECK(ran.status == 0);
    CHECK_THAT(ran.out, Contains("study bowl: 2 complete, 1 pruned, 1 interrupted; 1 of them infeasible; "
                                 "5 attempts out of memory, 1 trial recovered\n"));
    const auto told = [&](std::vector<std::string> words) {
        words.insert(words.begin(), tool("hpo-analyze"));
        words.push_back("--json");
        return json::parse(run_command(workshop, words).out);
    };
    const json run = json::parse(run_bowl(workshop, {"--json"}).out);
    const json summary = told({"summary"});
    const json oom = told({"oom"});
    const json trials = told({"trials"})["trials"];
    const json memory = told({"memory"});
    CHECK(run["complete"] == 2);
    CHECK(run["pruned"] == 1);
    CHECK(run["failed"] == 0);
    CHECK(run["interrupted_trials"] == 1);
    CHECK(run["infeasible"] == 1);
    CHECK(summary["states"] == json{{"RUNNING", 0}, {"COMPLETE", 2}, {"PRUNED", 1}, {"FAIL", 1}, {"WAITING", 0}});
    CHECK(summary["interrupted"] == 1);
    CHECK(summary["infeasible"] == 1);
    for (const json* report : {&run, &summary, &oom}) {
        CHECK((*report)["oom_attempts"] == 5);
        CHECK((*report)["oom_trials"] == 3);
        CHECK((*report)["recovered_trials"] == 1);
    }
    CHECK(memory["oom_trials"] == 3);
    CHECK(oom["trials"] == 4);
    CHECK(oom["ended_trials"] == 3);
    CHECK(oom["oom_ended_trials"] == 2);
    CHECK(oom["oom_share"].get<double>() == Approx(2.0 / 3));
    CHECK(trials[3]["state"] == "FAIL");
    CHECK(trials[3]["interrupted"] == true);
    CHECK(trials[2]["interrupted"] == false);
    CHECK_THAT(run_command(workshop, {tool("hpo-analyze"), "oom"}).out,
               Contains("2 of 3 ended trials (67 %) and 1 that has not ended, 5 attempts; 1 recovered in a later attempt"));
    CHECK_THAT(run_command(workshop, {tool("hpo-analyze"), "summary"}).out,
               Contains("4: 2 complete, 1 pruned, 1 interrupted; 1 of them infeasible\n"));
    CHECK_THAT(run_command(workshop, {tool("hpo-analyze"), "trials", "--state", "interrupted"}).out, Contains("interrupted"));
    CHECK(run_command(workshop, {tool("hpo-analyze"), "trials", "--state", "failed"}).out == "no failed trial\n");
    CHECK_THAT(run_command(workshop, {tool("hpo-analyze"), "trial", "3"}).out, Contains("Trial 3 of study bowl: interrupted\n"));
}

TEST_CASE("a study that goes on says what is done, and what does not count") {
    const Workshop workshop;
    workshop.write("bowl.lua", bowl);
    HandWritten study{workshop};
    study.add(hpo::TrialState::complete, 1, 0);
    study.add(hpo::TrialState::fail, 1, 0, true);
    const auto told = [&] {
        const auto ran = run_command(workshop, {tool("hpo-tune"), "run", "bowl.lua", "--progress", "plain", "--trials", "1"});
        return ran.error.substr(0, ran.error.find('\n'));
    };
    CHECK(told() == "study bowl: 1 of 1 done, 1 interrupted one does not count; nothing to do");
    study.add(hpo::TrialState::fail, 1, 0, true);
    CHECK(told() == "study bowl: 1 of 1 done, 2 interrupted ones do not count; nothing to do");
}

TEST_CASE("parameters that a rule changed are told wherever the trial's parameters are") {
    const Workshop workshop;
    workshop.write("bowl.lua", bowl);
    {
        hpo::store::Sqlite store{workshop.path("hpo.db").string()};
        const hpo::Study study = store.open_study("bowl", std::vector{hpo::Direction::minimize}, hpo::Store::Open::create);
        hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
        for (const char* name : {"x", "y"}) trial.params.set(name, hpo::FloatDistribution{-5, 5, false, {}}, 4);
        store.set_params(trial);
        for (int index = 0; index < 2; ++index) {
            hpo::Attempt attempt;
            attempt.index = index;
            attempt.plan.effective_batch = 8;
            if (index == 1) {
                attempt.changed_params = trial.params;
                attempt.changed_params->set("x", hpo::FloatDistribution{-5, 5, false, {}}, 1);
                attempt.changed_params->set("epochs", hpo::IntDistribution{1, 9}, 2);
            }
            store.begin_attempt(trial, attempt);
            attempt.seconds = index + 1;
            attempt.peak_allocated = index == 0 ? 16 << 20 : 2 << 20;
            attempt.outcome = index == 0 ? hpo::OutcomeKind::failed : hpo::OutcomeKind::complete;
            if (index == 0) attempt.failure = hpo::Failure{.kind = hpo::FailureKind::out_of_memory, .message = "CPU out of memory."};
            trial.attempts.push_back(attempt);
            store.end_attempt(trial, attempt);
        }
        trial.state = hpo::TrialState::complete;
        trial.values = {-1};
        store.finish(trial);
    }
    const std::string changed = "x 1 instead of 4, epochs 2";
    const auto ran = run_bowl(workshop, {"--trials", "1"});
    CHECK_THAT(ran.out, Contains("  ran with " + changed + "\n  run as 1 x micro-batch 8\n"));
    const json run = json::parse(run_bowl(workshop, {"--trials", "1", "--json"}).out);
    CHECK(run["best"]["params"]["x"] == 4);
    CHECK(run["best"]["changed_params"] == json{{"x", 1.0}, {"y", 4.0}, {"epochs", 2}});
    const auto told = [&](std::vector<std::string> words) {
        words.insert(words.begin(), tool("hpo-analyze"));
        return run_command(workshop, words).out;
    };
    CHECK_THAT(told({"best"}), Contains("(ran with)     " + changed + "\n") && Contains("(peak memory)  2.00 MiB\n"));
    CHECK_THAT(told({"trial", "0"}), Contains("  attempt 2: ") && Contains("    ran with   " + changed + "\n"));
    CHECK_THAT(told({"trials"}), Contains(changed + ", y 4\n"));
    CHECK_THAT(told({"summary"}), Contains("with " + changed + ", y 4\n"));
    const json best = json::parse(told({"best", "--json"}))["best"][0];
    CHECK(best["changed_params"]["x"] == 1);
    CHECK(best["ran"]["params"]["x"] == 1);
    CHECK(best["ran"]["peak_bytes"] == 2 << 20);
    CHECK(best["peak_bytes"] == 16 << 20);
    CHECK(json::parse(told({"summary", "--json"}))["best"][0]["changed_params"]["x"] == 1);
}

TEST_CASE("a trial's time is that of its attempts in every tool, without the wait for the device") {
    const Workshop workshop;
    {
        hpo::store::Sqlite store{workshop.path("hpo.db").string()};
        const hpo::Study study = store.open_study("bowl", std::vector{hpo::Direction::minimize}, hpo::Store::Open::create);
        hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
        for (int index = 0; index < 2; ++index) {
            hpo::Attempt attempt;
            attempt.index = index;
            store.begin_attempt(trial, attempt);
            attempt.seconds = 1000;
            attempt.outcome = hpo::OutcomeKind::complete;
            trial.attempts.push_back(attempt);
            store.end_attempt(trial, attempt);
        }
        trial.state = hpo::TrialState::complete;
        trial.values = {-1};
        store.finish(trial);
    }
    const auto told = [&](const char* command) { return json::parse(run_command(workshop, {tool("hpo-analyze"), command, "--json"}).out); };
    CHECK(told("trials")["trials"][0]["seconds"] == 2000);
    CHECK(told("summary")["trial_seconds"] == 2000);
    CHECK(told("oom")["trial_seconds"] == 2000);
}

TEST_CASE("trials that are RUNNING although their run is gone are told, and nobody says that no memory ran out") {
    const Workshop workshop;
    {
        hpo::store::Sqlite store{workshop.path("hpo.db").string()};
        const hpo::Study study = store.open_study("bowl", std::vector{hpo::Direction::minimize}, hpo::Store::Open::create);
        const hpo::Run gone = store.begin_run(study.id, {.started_ticks = "1"});  // this process, had it begun with the machine
        const hpo::Run here = store.begin_run(study.id, {});
        for (const hpo::Run& run : {gone, gone, here}) {
            const hpo::Trial trial = store.begin_trial(study.id, run.id);
            store.begin_attempt(trial, {});
        }
    }
    const auto told = [&](std::vector<std::string> words) {
        words.insert(words.begin(), tool("hpo-analyze"));
        return run_command(workshop, words).out;
    };
    CHECK_THAT(told({"summary"}), Contains("trials    3: 2 interrupted, 1 running"));
    CHECK_THAT(told({"trials", "--state", "running"}), Contains("\n    2  running") && !Contains("    1  "));
    CHECK_THAT(told({"trials", "--state", "interrupted"}), Contains("\n    1  interrupted") && !Contains("    2  "));
    CHECK_THAT(told({"summary"}), Contains("no out-of-memory is recorded; of the trials 2 are RUNNING although their run is gone"));
    CHECK_THAT(told({"oom"}), Contains("which does not mean that there was none: of 3 trials, 2 are RUNNING although"));
    CHECK_THAT(told({"failures"}), Contains("2 trials are RUNNING although their run is gone. The next run of the study ends them."));
    CHECK_THAT(told({"trial", "1"}), Contains("it is RUNNING although its run is gone"));
    CHECK_THAT(told({"trial", "2"}), !Contains("gone"));
    CHECK(json::parse(told({"summary", "--json"}))["uncertain"] == true);
    CHECK(json::parse(told({"oom", "--json"}))["without_message"]["running_without_run"] == json{0, 1});
    {
        hpo::store::Sqlite store{workshop.path("hpo.db").string()};
        static_cast<void>(store.open_study("empty", std::vector{hpo::Direction::minimize}, hpo::Store::Open::create));
    }
    CHECK_THAT(told({"compare"}), Contains("    RUNNING, their run is gone         2             0\n"));
    CHECK(json::parse(told({"compare", "--json"}))["studies"][0]["running_without_run"] == 2);
}
