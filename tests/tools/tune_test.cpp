// SPDX-License-Identifier: MIT
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>

#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"
#include "support/wording.hpp"

using namespace hpo::test;
using Catch::Contains;
using nlohmann::json;

namespace {

const std::string quadratic = R"(
local hpo = require "hpo"
local steps = hpo.option("steps", 3, "reports of a trial")
return hpo.study {
  name = "bowl",
  trainer = { "quadratic", steps = steps, sleep_ms = hpo.option("sleep_ms", 0, "pause before each report") },
  objective = { metric = "value", direction = "minimize" },
  sampler = "random", pruner = "none", recovery = "fail",
  trials = 10,
  space = function(trial)
    trial:float("x", -5, 5)
    trial:float("y", -5, 5)
  end,
}
)";

CommandResult tune(const Workshop& workshop, std::vector<std::string> words) {
    words.insert(words.begin(), tool("hpo-tune"));
    return run_command(workshop, words);
}

std::vector<hpo::Trial> trials_of(const Workshop& workshop, const std::string& name = "bowl") {
    hpo::store::Sqlite store{workshop.path("hpo.db").string()};
    std::vector<hpo::Trial> trials;
    store.refresh(store.open_study(name, std::vector{hpo::Direction::minimize}, hpo::Store::Open::resume).id, trials);
    return trials;
}

std::int64_t done(const std::vector<hpo::Trial>& trials) { return std::count_if(trials.begin(), trials.end(), hpo::counts_as_done); }

/// What comes of a command that is sent a signal once it has written `words` on stderr.
CommandResult signalled(const Workshop& workshop, const std::vector<std::string>& command, const std::string& words, int signal) {
    const pid_t child = start_command(workshop, command);
    const bool said = has_said(workshop, words);
    kill(child, signal);
    const auto result = finish_command(workshop, child);
    CHECK(said);
    return result;
}

/// Living processes whose command line has `words` in it.
int processes_with(const std::string& words) {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc"}) {
        const std::string name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        std::string line = read_file(entry.path() / "cmdline");
        std::replace(line.begin(), line.end(), '\0', ' ');
        const std::string stat = read_file(entry.path() / "stat");
        const auto name_end = stat.rfind(')');
        const bool zombie = name_end != std::string::npos && stat.size() > name_end + 2 && stat[name_end + 2] == 'Z';
        if (!zombie && line.find(words) != std::string::npos) ++count;
    }
    return count;
}

}  // namespace

TEST_CASE("a study runs to the asked number of trials, and goes on when asked for more") {
    const Workshop workshop;
    workshop.write("bowl.lua", quadratic);
    const auto first = tune(workshop, {"run", "bowl.lua", "--progress", "plain"});
    INFO(first.error);
    REQUIRE(first.status == 0);
    CHECK_THAT(first.error, Contains("study bowl: new, 10 trials"));
    CHECK_THAT(first.out, Contains("10 complete") && Contains("best: value"));
    CHECK(trials_of(workshop).size() == 10);

    const auto again = tune(workshop, {"run", "bowl.lua", "--trials", "15", "--json", "--progress", "none"});
    REQUIRE(again.status == 0);
    CHECK(again.error.empty());
    const json result = json::parse(again.out);
    CHECK(result["complete"] == 15);
    CHECK(result["best"]["params"].contains("x"));
    const auto trials = trials_of(workshop);
    CHECK(trials.size() == 15);
    for (const auto& trial : trials) {
        CHECK(trial.intermediate.size() == 3);
        CHECK(trial.attempts.at(0).worker_pid > 0);
    }
}

TEST_CASE("the same seed draws the same trials, whatever the number of workers") {
    const auto values = [](const std::string& workers) {
        const Workshop workshop;
        workshop.write("bowl.lua", quadratic);
        const auto result = tune(workshop, {"run", "bowl.lua", "--workers", workers, "--seed", "3", "--progress", "none"});
        REQUIRE(result.status == 0);
        std::vector<std::vector<double>> found;
        for (const auto& trial : trials_of(workshop)) found.push_back(trial.values);
        return found;
    };
    CHECK(values("1") == values("3"));
}

TEST_CASE("the command line wins over the script, and -v says where each value is from") {
    const Workshop workshop;
    workshop.write("bowl.lua", quadratic);
    const auto result =
        tune(workshop, {"run", "bowl.lua", "-v", "--trials", "2", "--set", "steps=5", "--fix", "x=1.5", "--progress", "none"});
    INFO(result.error);
    REQUIRE(result.status == 0);
    CHECK_THAT(result.error, Contains("trials") && Contains("command line") && Contains("bowl.lua") && Contains("default"));
    for (const auto& trial : trials_of(workshop)) {
        CHECK(trial.params.number("x") == 1.5);
        CHECK(trial.intermediate.size() == 5);
    }
}

TEST_CASE("wrong use is one line that says where, what and what would be right") {
    const Workshop workshop;
    workshop.write("bowl.lua", quadratic);
    struct Mistake {
        std::vector<std::string> words;
        int status;
        std::string says;
    };
    const std::vector<Mistake> mistakes{
        {{"rum", "bowl.lua"}, 2, "unknown command 'rum'; " + did_you_mean("run")},
        {{"rum", "--help"}, 2, "unknown command 'rum'; " + did_you_mean("run")},
        {{"run"}, 2, "got neither a script nor a program; expected SCRIPT, FILE.py:NAME, or -- PROGRAM ARGUMENTS"},
        {{"run", "missing.lua"}, 2, "missing.lua: cannot be read"},
        {{"run", "bowl.lua", "--sampler", "tpee"}, 2, "--sampler: unknown sampler 'tpee'; " + did_you_mean("tpe")},
        {{"run", "bowl.lua", "--sampler", "random:x=1"}, 2, "--sampler"},
        {{"run", "bowl.lua", "--set", "step=4"}, 2, "unknown option 'step'; " + did_you_mean("steps")},
        {{"run", "bowl.lua", "--trials", "many"}, 2, "--trials: got 'many'; expected a whole number"},
        {{"run", "bowl.lua", "--time", "soon"}, 2, "--time: got 'soon'; expected a duration"},
        {{"run", "bowl.lua", "--device", "tpu"}, 2, "--device: got 'tpu'; expected auto, cpu, cuda, cuda:N or cuda:*"},
        {{"run", "bowl.lua", "--device-memory", "lots"}, 2, "--device-memory: got 'lots'; expected a size"},
        {{"run", "bowl.lua", "--device-memory", "0"}, 2, "--device-memory: got '0'; expected at least 1MiB"},
        {{"run", "bowl.lua", "--device-memory", "1"}, 2, "--device-memory: got '1'; expected at least 1MiB"},
        {{"run", "bowl.lua", "--workers", "0"}, 2, "--workers: got '0'"},
        {{"run", "bowl.lua", "--fix", "x"}, 2, "--fix: got 'x'; expected NAME=VALUE"},
        {{"run", "bowl.lua", "--fix", "x=9"}, 2, "fixed parameter 'x'"},
        {{"run", "bowl.lua", "--trails", "5"}, 2, "unknown option '--trails'; " + did_you_mean("--trials")},
        {{"run", "bowl.lua", "--threads", "100000"}, 2, "--threads: got '100000'; " + whole_number_from(1, 1024)},
        {{"init", "a b"}, 2, "init: got 'a b'; expected a name of letters"},
        {{"run", "bowl.lua", "--store", "bowl.lua"}, 3, "bowl.lua"},
        {{"run", "bowl.lua", "--store", "no/such/folder/hpo.db"}, 3, "no/such/folder"},
    };
    for (const Mistake& mistake : mistakes) {
        const auto result = tune(workshop, mistake.words);
        CAPTURE(mistake.words, result.error);
        CHECK(result.status == mistake.status);
        CHECK_THAT(result.error, Contains("hpo-tune: error: ") && Contains(mistake.says));
        CHECK(std::count(result.error.begin(), result.error.end(), '\n') == 1);
        CHECK_FALSE(std::filesystem::exists(workshop.path("hpo.db")));
    }
    CHECK(read_file(workshop.path("bowl.lua")) == quadratic);
}

TEST_CASE("a study keeps its trainer, its objective and its distributions") {
    const Workshop workshop;
    workshop.write("bowl.lua", quadratic);
    REQUIRE(tune(workshop, {"run", "bowl.lua", "--progress", "none"}).status == 0);
    std::string changed = quadratic;
    changed.replace(changed.find("trial:float(\"x\", -5, 5)"), 23, "trial:int(\"x\", -5, 5)");
    workshop.write("changed.lua", changed);
    const auto refused = tune(workshop, {"run", "changed.lua", "--trials", "12", "--progress", "none"});
    CHECK(refused.status == 2);
    CHECK_THAT(refused.error, Contains("parameter 'x'") && Contains("one distribution for each name"));
    CHECK(trials_of(workshop).size() == 10);  // none was begun in vain
    {
        hpo::store::Sqlite store{workshop.path("hpo.db").string()};
        const auto study = store.open_study("bowl", std::vector{hpo::Direction::minimize}, hpo::Store::Open::resume);
        CHECK(study.system_attributes.at("hpo:trainer") == "\"quadratic\"");
        store.set_study_system_attribute(study.id, "hpo:metric", "\"accuracy\"");
    }
    const auto other = tune(workshop, {"run", "bowl.lua", "--trials", "12", "--progress", "none"});
    CHECK(other.status == 2);
    CHECK_THAT(other.error, Contains("metric \"value\" for study bowl; expected metric \"accuracy\""));
}

TEST_CASE("a trainer that does not exist is refused with what there is") {
    const Workshop workshop;
    std::string script = quadratic;
    script.replace(script.find("\"quadratic\""), 11, "\"quadratik\"");
    workshop.write("bowl.lua", script);
    const auto result = tune(workshop, {"run", "bowl.lua"});
    CHECK(result.status == 6);
    CHECK_THAT(result.error, Contains("quadratik") && Contains(did_you_mean("quadratic")) && Contains("searched"));
    CHECK_FALSE(std::filesystem::exists(workshop.path("hpo.db")));
}

TEST_CASE("check lists every problem and trains nothing") {
    const Workshop workshop;
    workshop.write("bowl.lua", quadratic);
    const auto good = tune(workshop, {"check", "bowl.lua"});
    INFO(good.error);
    CHECK(good.status == 0);
    CHECK_THAT(good.out, Contains(no_problems));

    const auto bad = tune(workshop, {"check", "bowl.lua", "--sampler", "tpee", "--trials", "-1", "--fix", "z=1"});
    CHECK(bad.status == 2);
    CHECK_THAT(bad.error, Contains("tpee") && Contains("--trials") && Contains("'z'") && Contains("3 problems"));
    CHECK_FALSE(std::filesystem::exists(workshop.path("hpo.db")));
}

TEST_CASE("check holds the script against the study that the store has") {
    const Workshop workshop;
    workshop.write("bowl.lua", quadratic);
    REQUIRE(tune(workshop, {"run", "bowl.lua", "--trials", "2"}).status == 0);
    CHECK(tune(workshop, {"check", "bowl.lua"}).status == 0);

    std::string other = quadratic;
    other.replace(other.find("trial:float(\"y\", -5, 5)"), 23, "trial:int(\"y\", -5, 5)");
    workshop.write("other.lua", other);
    const auto changed = tune(workshop, {"check", "other.lua"});
    CHECK(changed.status == 2);
    CHECK_THAT(changed.error, Contains("parameter 'y'") && Contains("1 problem"));
    CHECK(tune(workshop, {"check", "other.lua", "--study", "another"}).status == 0);
    CHECK(trials_of(workshop).size() == 2);
}

TEST_CASE("check refuses what run would refuse: too many workers, no threads") {
    const Workshop workshop;
    workshop.write("bowl.lua", quadratic);
    const auto many = tune(workshop, {"check", "bowl.lua", "--workers", "1000"});
    CHECK(many.status == 2);
    CHECK_THAT(many.error, Contains("--workers") && Contains("1 to 120"));
    CHECK_THAT(tune(workshop, {"check", "bowl.lua", "--threads", "0"}).error, Contains("--threads"));
}

TEST_CASE("check answers as JSON, with the same status") {
    const Workshop workshop;
    workshop.write("bowl.lua", quadratic);
    const auto good = tune(workshop, {"check", "bowl.lua", "--json"});
    INFO(good.error);
    CHECK(good.status == 0);
    CHECK(good.error.empty());
    CHECK(json::parse(good.out) == json{{"script", "bowl.lua"},
                                        {"study", "bowl"},
                                        {"trainer", "quadratic"},
                                        {"ok", true},
                                        {"problems", json::array()},
                                        {"remarks",
                                         {"not looked at: data, a batch, a loss and gradients, beyond what trainer quadratic "
                                          "checks itself; only a trainer with LibTorch shows them"}}});
    const auto bad = tune(workshop, {"check", "bowl.lua", "--json", "--sampler", "tpee", "--trials", "-1"});
    CHECK(bad.status == 2);
    CHECK(bad.error.empty());
    const json found = json::parse(bad.out);
    CHECK(found["ok"] == false);
    CHECK(found["problems"].size() == 2);
    const json none = json::parse(tune(workshop, {"check", "missing.lua", "--json"}).out);
    CHECK(none["study"].is_null());
    CHECK(none["problems"].size() == 1);
}

TEST_CASE("values that the trainer refuses are found before anything runs, each parameter once") {
    const Workshop workshop;
    workshop.write("wrong.lua", R"(
local hpo = require "hpo"
return hpo.study {
  name = "wrong", trainer = "fault", objective = { metric = "value", direction = "minimize" },
  sampler = "random", pruner = "none", recovery = "fail", trials = 2,
  space = function(trial)
    local kind = trial:categorical("fault", { "none", "slow" })
    if kind == "slow" then trial:int("batch", 0, 0) end   -- below its least
    trial:float("steps", 0.25, 0.75)                      -- a whole number
    trial:float("learning_rate", 0, 1)                    -- unknown
  end,
}
)");
    const std::vector<std::string> folder{"--plugin-dir", HPO_BINARY_DIR "/tests/trainers"};
    for (const char* command : {"check", "run"}) {
        const auto result = tune(workshop, {command, "wrong.lua", folder[0], folder[1]});
        CAPTURE(command, result.error);
        CHECK(result.status == 2);
        CHECK_THAT(result.error, Contains("wrong.lua: trainer fault: unknown parameter 'learning_rate'") &&
                                     Contains("wrong.lua: trainer fault: steps: got '0.") &&
                                     Contains("expected a whole number in [0, inf)") &&
                                     Contains("wrong.lua: trainer fault: batch: got '0'; expected a whole number in [1, inf) (in ") &&
                                     Contains(" of 64 proposals)"));
        CHECK(std::count(result.error.begin(), result.error.end(), '\n') == (command == std::string{"check"} ? 4 : 3));
        CHECK_FALSE(std::filesystem::exists(workshop.path("hpo.db")));
    }
}

TEST_CASE("a rule that asks for what the trainer or the machine lacks is refused at the start") {
    const Workshop workshop;
    const auto with_rule = [&](const std::string& rule) {
        std::string script = quadratic;
        script.replace(script.find("trials = 10,"), 12, "trials = 10, on_oom = function(trial, failure, plan) " + rule + " end,");
        workshop.write("rule.lua", script);
    };
    for (const char* command : {"check", "run"}) {
        CAPTURE(command);
        with_rule("return hpo.retry { activation_checkpointing = true }");
        const auto lever = tune(workshop, {command, "rule.lua"});
        CHECK(lever.status == 2);
        CHECK_THAT(lever.error,
                   Contains("rule.lua: trainer quadratic: a rule of the script retries with a change of the plan: the trainer has "
                            "no lever 'activation_checkpointing'; known: none"));
        with_rule("return hpo.retry { device = 'tpu' }");
        const auto device = tune(workshop, {command, "rule.lua"});
        CHECK(device.status == 2);
        CHECK_THAT(device.error, Contains("rule.lua: hpo.retry: device: got 'tpu'; expected auto, cpu, cuda or cuda:N"));
        // A card that another machine may have is no mistake.
        with_rule("return hpo.retry { device = 'cuda:7', fresh_worker = true }");
        std::vector<std::string> words{command, "rule.lua", "--device", "cpu"};
        if (command == std::string{"run"}) words.insert(words.end(), {"--store", "absent.db"});
        const auto absent = tune(workshop, words);
        CAPTURE(absent.error);
        CHECK(absent.status == 0);
        if (command == std::string{"check"})
            CHECK_THAT(absent.error + absent.out,
                       Contains("hpo.retry asks for device 'cuda:7', which this run does not have; the attempt runs on one that it has"));
        with_rule("return hpo.retry { params = { stps = 3 } }");
        const auto name = tune(workshop, {command, "rule.lua"});
        CHECK(name.status == 2);
        CHECK_THAT(name.error,
                   Contains("rule.lua: trainer quadratic: a rule of the script retries with changed parameters: unknown parameter "
                            "'stps'; " +
                            did_you_mean("steps")));
        with_rule("return hpo.retry { params = { steps = 'three' } }");
        const auto value = tune(workshop, {command, "rule.lua"});
        CHECK(value.status == 2);
        CHECK_THAT(value.error, Contains("retries with changed parameters: steps: got 'three'; expected a whole number"));
        CHECK_FALSE(std::filesystem::exists(workshop.path("hpo.db")));
    }
    for (const char* possible : {"fresh_worker = true", "params = { steps = 3 }"}) {
        with_rule(std::string{"return hpo.retry { "} + possible + " }");
        CHECK(tune(workshop, {"check", "rule.lua"}).status == 0);
    }
}

TEST_CASE("check and run refuse a rule that is known to fail, and tell its error once") {
    const Workshop workshop;
    const auto with_rule = [&](const std::string& rule) {
        std::string script = quadratic;
        script.replace(script.find("trials = 10,"), 12, "trials = 1, on_oom = function(trial, failure, plan) " + rule + " end,");
        workshop.write("rule.lua", script);
    };
    for (const auto& [rule, error] : std::initializer_list<std::pair<std::string, std::string>>{
             {"return hpo.retry { microbatch = 2 }", "'microbatch'; " + did_you_mean("micro_batch")},
             {"return failure.foo.bar", "failure: unknown member 'foo'"},
             {"return hpo.retry { precision = 'int8' }", "'int8'"}}) {
        CAPTURE(rule);
        with_rule(rule);
        const auto checked = tune(workshop, {"check", "rule.lua"});
        CHECK(checked.status == 2);
        CHECK_THAT(checked.error, Contains("a rule of the script fails when it is asked about out_of_memory (capacity): ") &&
                                      Contains("rule.lua:") && Contains(error) && Contains("rule.lua: 1 problem\n"));
        const auto ran = tune(workshop, {"run", "rule.lua", "--progress", "none", "--study", rule});
        CHECK(ran.status == 2);
        CHECK_THAT(ran.error, Contains("hpo-tune: error: a rule of the script fails when it is asked about out_of_memory (capacity): ") &&
                                  Contains(error));
        CHECK(std::count(ran.error.begin(), ran.error.end(), '\n') == 1);
        CHECK_FALSE(std::filesystem::exists(workshop.path("hpo.db")));
    }
    with_rule("if failure.cause == 'capacity' then return hpo.prune 'too large' end");
    CHECK(tune(workshop, {"check", "rule.lua"}).status == 0);
}

TEST_CASE("commands that are suggested can be pasted into a shell") {
    const Workshop workshop;
    workshop.write("bowl.lua", quadratic);
    const auto result =
        tune(workshop, {"run", "bowl.lua", "--trials", "1", "--progress", "none", "--store", "my runs.db", "--study", "it's $HOME"});
    INFO(result.error);
    CHECK(result.status == 0);
    CHECK_THAT(result.out, Contains("look closer: hpo-analyze summary --store 'my runs.db' --study 'it'\\''s $HOME'\n") &&
                               Contains("more trials: hpo-tune run bowl.lua --progress none --store 'my runs.db' --study 'it'\\''s $HOME' "
                                        "--trials 2\n"));
}

TEST_CASE("space says what the guard would keep") {
    const Workshop workshop;
    const auto script = [&](const std::string& xs) {
        workshop.write("space.lua", R"(
local hpo = require "hpo"
return hpo.study {
  name = "space", trainer = "fault", objective = { metric = "value", direction = "minimize" },
  space = function(trial)
    trial:categorical("batch", { 32, 1000000 })
    )" + xs + R"(
  end,
}
)");
    };
    const auto space = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"space", "space.lua", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers"});
        const auto result = tune(workshop, words);
        INFO(result.error);
        CHECK(result.status == 0);
        return result.out;
    };
    script("trial:categorical('x', { -1, 1 })");  // the trainer cannot tell its shape below 0
    CHECK_THAT(space({}), Contains("4 combinations in all") && Contains("guard unlimited keeps all\n"));
    CHECK_THAT(space({"--guard", "formula"}), Contains("guard formula keeps all: there is no --device-memory"));
    CHECK_THAT(
        space({"--guard", "formula", "--device-memory", "1MiB"}),
        Contains(
            "guard formula with 1.00 MiB keeps 4 of 4 combinations, 1 of them with a smaller micro-batch, 2 of them without a prediction"));
    const json counted = json::parse(space({"--guard", "formula", "--device-memory", "1MiB", "--json"}))["guard"];
    CHECK(counted["kept"] == 4);
    CHECK(counted["smaller_micro_batch"] == 1);
    CHECK(counted["random_draws"] == false);
    CHECK_THAT(space({"--guard", "limit:bytes=2MiB", "--device-memory", "1MiB"}), Contains("keeps 4 of 4 combinations\n"));
    script("trial:float('x', 0.5, 1)");
    CHECK_THAT(space({"--guard", "formula", "--device-memory", "1MiB"}),
               Contains("keeps 100 % of the proposals, estimated from ") && Contains(" random draws, "));  // fewer on a busy machine
}

TEST_CASE("what a study would call a failure is a failure of try") {
    const Workshop workshop;
    workshop.write("fault.lua", R"(
local hpo = require "hpo"
return hpo.study {
  name = "fault", trainer = { "fault", fault = hpo.option("fault", "none", "what goes wrong") },
  objective = { metric = "value", direction = "minimize" },
  space = function(trial) trial:float("x", 0, 1) end,
}
)");
    const auto with = [&](const std::string& fault, std::vector<std::string> more = {}) {
        more.insert(more.begin(), {"try", "fault.lua", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers", "--set", "fault=" + fault});
        return tune(workshop, more);
    };
    CHECK(with("none").status == 0);
    const std::map<std::string, std::string> faults{{"nan", "the objective is NaN"},
                                                    {"no_values", "the trainer completed without a value"},
                                                    {"two_values", "the trainer returned 2 values for 1 objectives"},
                                                    {"exit", "the trainer ended the process with status 3"},
                                                    {"exit_0", "the trainer ended the process with status 0"},
                                                    {"segv", "the trainer ended the process by SIGSEGV"},
                                                    {"abort", "the trainer ended the process by SIGABRT"},
                                                    {"stops_unasked", "the trainer stopped without being asked to"}};
    for (const auto& [fault, message] : faults) {
        const auto text = with(fault);
        CAPTURE(fault, text.out, text.error);
        CHECK(text.status == 1);
        CHECK_THAT(text.out, Contains("failed") && Contains(message));
        const auto machine = with(fault, {"--json"});
        CHECK(machine.status == 1);
        const json document = json::parse(machine.out);
        CHECK(document["ok"] == false);
        CHECK(document["failure"]["message"] == message);
        CHECK(document["values"].empty());
    }
    const auto good = with("none", {"--json"});
    const json document = json::parse(good.out);
    CHECK(document["ok"] == true);
    CHECK(document["failure"].is_null());
    CHECK(document["params"].contains("x"));
    CHECK(document["values"].size() == 1);
}

TEST_CASE("try runs one trial in the foreground and stores nothing") {
    const Workshop workshop;
    workshop.write("bowl.lua", quadratic);
    const auto result = tune(workshop, {"try", "bowl.lua", "--fix", "x=1", "--fix", "y=2"});
    INFO(result.error);
    CHECK(result.status == 0);
    CHECK_THAT(result.out, Contains("x = 1") && Contains("step 3") && Contains("value "));
    CHECK_FALSE(std::filesystem::exists(workshop.path("hpo.db")));
}

TEST_CASE("try runs the parameters of a stored trial, or says why it cannot, and draws none") {
    const Workshop workshop;
    const auto write = [&](const std::string& questions, const std::string& more = "", const std::string& trainer = "quadratic") {
        workshop.write("bowl.lua", "local hpo = require \"hpo\"\nreturn hpo.study { name = \"bowl\", trainer = { \"" + trainer +
                                       "\" }, objective = { metric = \"value\", direction = \"minimize\" }, sampler = \"random\", " + more +
                                       " pruner = \"none\", trials = 3, space = function(trial) " + questions + " end }\n");
    };
    write("trial:float('x', 1, 2) trial:float('y', 1, 2)");
    REQUIRE(tune(workshop, {"run", "bowl.lua", "--progress", "none"}).status == 0);
    const auto stored = trials_of(workshop).at(1);
    const auto tried = [&](std::vector<std::string> more = {}) {
        more.insert(more.begin(), {"try", "bowl.lua", "--json", "--trial"});
        if (more.size() == 4) more.emplace_back("1");
        return tune(workshop, more);
    };
    const auto refusal = [&](const std::vector<std::string>& more = {}) {
        const auto result = tried(more);
        CHECK(result.status == 2);
        CHECK(result.out.empty());
        CHECK(std::count(result.error.begin(), result.error.end(), '\n') == 1);
        CHECK_THAT(result.error, !Contains("fixed parameter"));
        return result.error;
    };
    const std::string trial = "hpo-tune: error: --trial 1: trial 1 of study bowl";
    const json params = json::parse(tried().out).at("params");
    CHECK(params.at("x") == stored.params.number("x"));
    CHECK(params.at("y") == stored.params.number("y"));
    CHECK(json::parse(tried({"1", "--fix", "x=1.5"}).out).at("params") == json{{"x", 1.5}, {"y", stored.params.number("y").value()}});
    CHECK_THAT(refusal({"1", "--fix", "x=77"}), Catch::StartsWith("hpo-tune: error: --fix x: got 77; expected float [1, 2]"));
    CHECK_THAT(refusal({"7"}), Contains("--trial: got '7'; expected best, or a number below 3"));

    write("trial:float('x', 1, 2)");
    CHECK_THAT(refusal(), Catch::StartsWith(trial + " has parameter 'y' = ") && Contains("; bowl.lua does not ask for it"));
    CHECK_THAT(refusal({"best"}), Contains("--trial best: trial ") && Contains(" has parameter 'y' = "));
    write("trial:float('x', 1, 2) trial:float('y', 1, 2) trial:int('z', 1, 4)");
    CHECK_THAT(refusal(), Catch::StartsWith(trial + " has no parameter 'z'; bowl.lua asks for it: int [1, 4]; --fix z=VALUE"));
    CHECK_THAT(refusal({"best"}), Contains("--trial best: ") && Contains(" has no parameter 'z'"));
    CHECK(json::parse(tried({"1", "--fix", "z=3"}).out).at("params").at("z") == 3);
    CHECK_THAT(refusal({"1", "--fix", "z=9"}), Catch::StartsWith("hpo-tune: error: --fix z: got 9; expected int [1, 4]"));
    write("trial:float('x', 1, 2) trial:float('y', 3, 4)");
    CHECK_THAT(refusal(), Catch::StartsWith(trial + ": parameter 'y': got ") && Contains("; expected float [3, 4], as in bowl.lua"));
    write("local x = trial:float('x', 1, 2) trial:float('y', 1, 2) trial:require(x > 2, 'too small')");
    CHECK_THAT(tried().error, Contains("too small"));
    write("trial:float('x', 1, 2) trial:float('y', 1, 2)", "fix = { x = 1.25 },");
    CHECK_THAT(refusal(), Catch::StartsWith(trial + ": parameter 'x': got ") && Contains("; expected 1.25, which bowl.lua fixes"));
    write("trial:float('x', 1, 2) trial:float('y', 1, 2)", "", "fault");
    CHECK_THAT(refusal({"1", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers"}),
               Contains("--trial 1: got trainer \"fault\" in bowl.lua; expected trainer \"quadratic\", which study bowl has"));
}

TEST_CASE("an error of the space while a study runs names the trial and the parameters that it had drawn") {
    const Workshop workshop;
    std::string script = quadratic;  // the proposals that are looked at before a run are those of the first 64 trials
    script.replace(script.find("    trial:float(\"y\""), 0, "    if trial.number == 65 then local t = nil; t.x = 1 end\n");
    workshop.write("bowl.lua", script);
    const auto result = tune(workshop, {"run", "bowl.lua", "--set", "steps=1", "--trials", "70", "--workers", "1", "--progress", "none"});
    CHECK(result.status == 2);
    CHECK_THAT(result.error, Contains("hpo-tune: error: bowl.lua:12: ") && Contains(" in trial 65, with x = "));
    CHECK(done(trials_of(workshop)) == 65);
}

TEST_CASE("init writes a script that loads, and overwrites nothing") {
    const Workshop workshop;
    const auto first = tune(workshop, {"init", "mine"});
    CHECK(first.status == 0);
    const auto text = read_file(workshop.path("mine.lua"));
    CHECK_THAT(text, Contains("name = \"mine\""));
    const auto second = tune(workshop, {"init", "mine"});
    CHECK(second.status == 2);
    CHECK(read_file(workshop.path("mine.lua")) == text);
    const auto counted = tune(workshop, {"space", "mine.lua"});
    INFO(counted.error);
    CHECK(counted.status == 0);
}

TEST_CASE("policies and doctor answer as text and as JSON") {
    const Workshop workshop;
    const auto text = tune(workshop, {"policies"});
    CHECK(text.status == 0);
    CHECK_THAT(text.out, Contains("random") && Contains("median") && Contains("unlimited") && Contains("shrink_micro_batch") &&
                             Contains("quadratic"));
    const json listed = json::parse(tune(workshop, {"policies", "--json"}).out);
    CHECK(listed.contains("sampler"));
    CHECK(listed.contains("trainer"));
    const auto kind = tune(workshop, {"policies", "samplers"});
    CHECK(kind.status == 2);
    CHECK_THAT(kind.error, Contains(did_you_mean("sampler")));

    const auto doctor = tune(workshop, {"doctor"});
    INFO(doctor.out);
    CHECK(doctor.status == 0);
    CHECK_THAT(doctor.out, Contains("cpu") && Contains("trainer quadratic") && Contains("store"));
    CHECK_FALSE(std::filesystem::exists(workshop.path("hpo.db")));
    CHECK(json::parse(tune(workshop, {"doctor", "--json"}).out).is_array());
}

TEST_CASE("a study of which every trial failed says so and does not end well") {
    const Workshop workshop;
    workshop.write("no.lua", R"(
local hpo = require "hpo"
return hpo.study {
  name = "no", trainer = { "fault", fault = "throw" }, objective = { metric = "value", direction = "minimize" },
  sampler = "random", pruner = "none", recovery = "fail", trials = 2,
  space = function(trial) trial:float("x", 0, 1) end,
}
)");
    const auto result = tune(workshop, {"run", "no.lua", "--progress", "none", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers"});
    INFO(result.out);
    CHECK(result.status == 1);
    CHECK(result.error == "hpo-tune: error: study no: each of its 2 trials failed\n");
    CHECK(done(trials_of(workshop, "no")) == 2);
}

TEST_CASE("attempts keep checkpoints beside the store while their trial lasts, and go on from them") {
    const Workshop workshop;
    workshop.write("kept.lua", R"(
local hpo = require "hpo"
return hpo.study {
  name = "kept", trainer = { "fault", fault = "oom_once_above", steps = 4 }, objective = { metric = "value", direction = "minimize" },
  sampler = "random", pruner = "none", recovery = "shrink_micro_batch", trials = 2,
  space = function(trial) trial:float("x", 0, 1) trial:categorical("batch", { 32 }) end,
}
)");
    const auto result = tune(workshop, {"run", "kept.lua", "--progress", "none", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers"});
    INFO(result.error);
    CHECK(result.status == 0);
    for (const hpo::Trial& trial : trials_of(workshop, "kept")) {
        REQUIRE(trial.attempts.size() == 3);  // 32, 16, 8 examples
        CHECK_FALSE(trial.attempts[0].resumed_step);
        CHECK(trial.attempts[1].resumed_step == 2);
        CHECK(trial.attempts[2].resumed_step == 2);
        CHECK(trial.attempts[0].reports.size() == 1);
        CHECK(trial.intermediate.size() == 4);
    }
    CHECK_FALSE(std::filesystem::exists(workshop.path("hpo.db.checkpoints")));
}

TEST_CASE("a rule that fails leaves its own error beside the failure that it was asked about") {
    const Workshop workshop;
    workshop.write("rule.lua", R"(
local hpo = require "hpo"
return hpo.study {
  name = "rule", trainer = { "fault", fault = "oom_text" }, objective = { metric = "value", direction = "minimize" },
  sampler = "random", pruner = "none", trials = 1,
  space = function(trial) trial:float("x", 0, 1) end,
  -- what was made up to look at the rule has no such message
  on_oom = function(trial, failure, plan) if failure.message:find("CUDA") then return failure.nothing // 2 end end,
}
)");
    const auto run = tune(workshop, {"run", "rule.lua", "--progress", "none", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers"});
    CHECK(run.status == 2);
    CHECK_THAT(run.error, Contains("hpo-tune: error: rule.lua:8: ") && Contains("; so failed a rule of the script in 1 trial of this run"));
    const hpo::Trial trial = trials_of(workshop, "rule").at(0);
    CHECK(trial.state == hpo::TrialState::fail);
    CHECK(trial.constraints.empty());
    CHECK_THAT(trial.user_attributes.at("error_message"), Contains("CUDA out of memory"));
    CHECK_THAT(trial.user_attributes.at("rule_error"), Contains("rule.lua:8"));
    const auto shown = run_command(workshop, {tool("hpo-analyze"), "trial", "0", "--store", "hpo.db"});
    INFO(shown.error);
    CHECK_THAT(shown.out, Contains("CUDA out of memory") && Contains("answer") && Contains("rule.lua:8") && Contains("rule_error"));
    const auto failures = run_command(workshop, {tool("hpo-analyze"), "failures", "--store", "hpo.db"}).out;
    CHECK_THAT(failures, Contains("script_error: rule.lua:8: "));
    CHECK(failures.find("script_error") < failures.find("out_of_memory"));
    const auto summary = run_command(workshop, {tool("hpo-analyze"), "summary", "--store", "hpo.db"}).out;
    CHECK_THAT(summary, Contains("1 trial ended because a rule of the script failed, the latest: rule.lua:8: ") && !Contains("infeasible"));
}

TEST_CASE("doctor and try change no file, whoever made it") {
    const Workshop workshop;
    workshop.write("bowl.lua", quadratic);
    const auto names = [&] {
        std::set<std::string> found;
        for (const auto& entry : std::filesystem::directory_iterator{workshop.path()}) found.insert(entry.path().filename().string());
        return found;
    };
    for (const char* name : {"optuna-3.1.0.db", "optuna-3.6.2.db", "optuna-5.0.0.db", "rustuna-0.2.0.db"}) {
        CAPTURE(name);
        std::filesystem::copy_file(std::string{HPO_SOURCE_DIR} + "/tests/data/optuna/" + name, workshop.path(name));
        const std::string before = read_file(workshop.path(name));
        REQUIRE_FALSE(before.empty());
        (void)tune(workshop, {"policies"});  // so that the files of its output are there
        const auto there = names();
        const auto doctor = tune(workshop, {"doctor", "--store", name});
        CHECK_THAT(doctor.out, Contains(std::string{name} + " holds"));
        CHECK(tune(workshop, {"try", "bowl.lua", "--store", name, "--trial", "0"}).status == 2);  // it has no study bowl
        CHECK(read_file(workshop.path(name)) == before);
        CHECK(names() == there);
    }
    const auto missing = tune(workshop, {"try", "bowl.lua", "--store", "missing.db", "--trial", "0"});
    CHECK(missing.status == 3);
    CHECK_THAT(missing.error, Contains("store 'missing.db': does not exist"));
    CHECK_FALSE(std::filesystem::exists(workshop.path("missing.db")));
    const auto nowhere = tune(workshop, {"doctor", "--store", "no/such/hpo.db"});
    CHECK(nowhere.status == 1);
    CHECK_THAT(nowhere.out, Contains("folder 'no/such' cannot be written"));
}

TEST_CASE("a trainer that hangs is named after the time that it is given") {
    const Workshop workshop;
    const auto study = [](const std::string& trainer) {
        return "local hpo = require \"hpo\"\nreturn hpo.study { name = \"s\", trainer = " + trainer +
               ", objective = { metric = \"value\", direction = \"minimize\" }, sampler = \"random\", pruner = \"none\", trials = 2,\n"
               "  space = function(trial) trial:float(\"x\", -5, 5) end }\n";
    };
    const std::string folder = HPO_BINARY_DIR "/tests/hanging_trainers";
    const std::string hangs =
        folder + "/libhpo_trainer_hangs_in_constructor.so: no answer within 2 s, in its trainer's constructor or info()";
    workshop.write("hang.lua", study("\"hangs_in_constructor\""));
    for (const auto& [command, status] : {std::pair{"check", 2}, std::pair{"run", 6}, std::pair{"try", 6}}) {
        const auto result = tune(workshop, {command, "hang.lua", "--plugin-dir", folder, "--plugin-timeout", "2s"});
        CAPTURE(command, result.out);
        CHECK(result.status == status);
        CHECK_THAT(result.error, Contains(hangs));
    }
    CHECK_THAT(tune(workshop, {"doctor", "--plugin-dir", folder, "--plugin-timeout", "2s"}).out, Contains(hangs));
    CHECK_THAT(tune(workshop, {"policies", "trainer", "--plugin-dir", folder, "--plugin-timeout", "2s"}).out, Contains(hangs));
    const auto refused = tune(workshop, {"doctor", "--plugin-timeout", "0s"});
    CHECK(refused.status == 2);
    CHECK_THAT(refused.error, Contains("--plugin-timeout: ") && Contains("expected a duration from 1ms to 24h"));

    workshop.write("check.lua", study("{ \"fault\", fault = \"hang_in_check\" }"));
    const std::vector<std::string> given{"check.lua", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers", "--plugin-timeout", "5s"};
    const auto with = [&](std::vector<std::string> words) {
        words.insert(words.begin() + 1, given.begin(), given.end());
        return tune(workshop, words);
    };
    const auto checked = with({"check"});
    CHECK(checked.status == 2);
    CHECK_THAT(checked.error, Contains("hpo-tune: error: trainer fault: check: no answer within 5 s\n"));
    const auto ran = with({"run", "--progress", "none"});
    CHECK(ran.status == 0);
    CHECK_THAT(ran.error, Contains("hpo-tune: note: trainer fault: check: no answer within 5 s\n"));
}

TEST_CASE("an interrupt ends running trials, loses no finished one, and the study goes on") {
    const Workshop workshop;
    workshop.write("bowl.lua", quadratic);
    const auto result =
        signalled(workshop, {tool("hpo-tune"), "run", "bowl.lua", "--set", "sleep_ms=150", "--workers", "2", "--progress", "plain"},
                  "trial 0", SIGINT);
    INFO(result.error);
    CHECK(result.status == 130);
    CHECK_THAT(result.error, Contains("hpo-tune: note: interrupted: ending the running trials; again to leave at once\n"));
    for (const auto& trial : trials_of(workshop)) CHECK(hpo::is_finished(trial.state));
    REQUIRE(tune(workshop, {"run", "bowl.lua", "--accept-changed-options", "--progress", "none"}).status == 0);
    CHECK(done(trials_of(workshop)) == 10);
}

TEST_CASE("a terminal that hangs up ends a study like an interrupt, and not under nohup") {
    const Workshop workshop;
    workshop.write("bowl.lua", quadratic);
    const std::vector<std::string> run{tool("hpo-tune"), "run", "bowl.lua", "--set", "sleep_ms=150", "--progress", "plain"};
    const auto result = signalled(workshop, run, "\ntrial ", SIGHUP);
    INFO(result.error);
    CHECK(result.status == 130);
    CHECK_THAT(result.error, Contains("hpo-tune: note: interrupted: ending the running trials"));
    for (const auto& trial : trials_of(workshop)) CHECK(hpo::is_finished(trial.state));
    CHECK(done(trials_of(workshop)) < 10);

    std::vector<std::string> under_nohup{"/usr/bin/nohup"};
    under_nohup.insert(under_nohup.end(), run.begin(), run.end());
    CHECK(signalled(workshop, under_nohup, "\ntrial ", SIGHUP).status == 0);
    CHECK(done(trials_of(workshop)) == 10);
}

TEST_CASE("killed at random moments, a study loses and doubles nothing, and its workers are gone within two seconds") {
    const Workshop workshop;
    workshop.write("bowl.lua", quadratic);
    const std::vector<std::string> command{tool("hpo-tune"), "run",       "bowl.lua", "--trials",   "60",   "--set",
                                           "sleep_ms=100",   "--workers", "2",        "--progress", "plain"};
    std::mt19937 random{Catch::rngSeed()};
    std::uniform_int_distribution<int> moment{0, 600};
    int met_a_running_trial = 0;
    std::map<std::int64_t, std::vector<double>> finished;
    int workers_seen = 0;
    for (int kills = 0; kills < 20; ++kills) {
        const pid_t child = start_command(workshop, command);
        // Every second time from the first trial on, however slow the start is here; else from the start, which it then meets.
        if (kills % 2 == 0) REQUIRE(has_said(workshop, "\ntrial "));
        std::this_thread::sleep_for(std::chrono::milliseconds{moment(random)});
        const std::string workers = "--parent " + std::to_string(child) + " ";
        workers_seen += processes_with(workers);
        kill(child, SIGKILL);
        (void)finish_command(workshop, child);
        REQUIRE(eventually([&] { return processes_with(workers) == 0; }));
        if (!std::filesystem::exists(workshop.path("hpo.db"))) continue;
        try {
            const auto trials = trials_of(workshop);
            const auto is_running = [](const hpo::Trial& trial) { return trial.state == hpo::TrialState::running; };
            met_a_running_trial += std::any_of(trials.begin(), trials.end(), is_running) ? 1 : 0;
            for (const auto& trial : trials) {
                if (!hpo::counts_as_done(trial)) continue;
                const auto [known, is_new] = finished.emplace(trial.number, trial.values);
                if (!is_new) CHECK(known->second == trial.values);
            }
        } catch (const hpo::Error& error) {
            CHECK(error.code() == hpo::Errc::unknown_name);  // killed before the study was made
        }
    }
    CHECK(workers_seen > 0);  // so that none afterwards says something
    CHECK(met_a_running_trial >= 8);
    const auto last = run_command(workshop, command);
    INFO(last.error);
    REQUIRE(last.status == 0);
    const auto trials = trials_of(workshop);
    for (std::size_t i = 0; i < trials.size(); ++i) {
        CHECK(trials[i].number == static_cast<std::int64_t>(i));
        CHECK(hpo::is_finished(trials[i].state));
    }
    CHECK(done(trials) == 60);
    for (const auto& [number, values] : finished) CHECK(trials.at(static_cast<std::size_t>(number)).values == values);
}

TEST_CASE("the help of the commands that do most names the exit codes") {
    const Workshop workshop;
    for (const char* command : {"run", "try", "trace", "estimate", "new-plugin"}) {
        CAPTURE(command);
        const auto help = run_command(workshop, {tool("hpo-tune"), command, "--help"});
        CHECK(help.status == 0);
        CHECK_THAT(help.out, Contains("Exit codes: 0 done, ") && Contains("130 interrupted"));
    }
}
