// SPDX-License-Identifier: MIT
#include <signal.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hpo/store/snapshot.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;
using Catch::Contains;

namespace {

const std::string plugins = HPO_BINARY_DIR "/tests/trainers";

/// A study with this trainer, space and further members.
std::string study(const std::string& trainer, const std::string& space, const std::string& more = "") {
    return "local hpo = require \"hpo\"\nreturn hpo.study { name = \"s\", trainer = " + trainer +
           ",\n  objective = { metric = \"value\", direction = \"minimize\" }, sampler = \"random\", pruner = \"none\", recovery = "
           "\"fail\", "
           "workers = 1,\n  " +
           more + "\n  space = function(trial) " + space + " end }\n";
}

CommandResult tune(const Workshop& workshop, std::vector<std::string> words) {
    words.insert(words.begin(), tool("hpo-tune"));
    return run_command(workshop, words);
}

/// The rest of the line that begins with `begin`.
std::string line_after(const std::string& text, const std::string& begin) {
    const std::size_t at = text.find("\n" + begin);
    if (at == std::string::npos) return {};
    const std::size_t from = at + 1 + begin.size();
    return text.substr(from, text.find('\n', from) - from);
}

}  // namespace

TEST_CASE("an interrupted run ends with the command that goes on, which a shell takes") {
    const Workshop workshop;
    workshop.write("my study.lua", study("{ \"quadratic\", steps = 2, sleep_ms = 100, a = hpo.option(\"a\", 1.0, \"a\") }",
                                         "trial:float(\"x\", -5, 5) trial:float(\"y\", -5, 5)"));
    const pid_t child = start_command(workshop, {tool("hpo-tune"), "run", "my study.lua", "--set", "a=0.5", "--fix", "y=1", "--trials", "9",
                                                 "--seed", "3", "--progress", "plain", "--store", "my runs.db"});
    CHECK(has_said(workshop, "trial 1: x="));
    kill(child, SIGINT);
    const auto stopped = finish_command(workshop, child);
    CHECK(stopped.status == 130);
    const std::string command = line_after(stopped.out, "go on: ");
    CHECK(command == "hpo-tune run 'my study.lua' --progress plain --seed 3 --store 'my runs.db' --trials 9 --set a=0.5 --fix y=1");

    const auto again = run_command(workshop, {"/bin/sh", "-c", "PATH=" HPO_BINARY_DIR "/bin:$PATH; " + command});
    INFO(again.error);
    CHECK(again.status == 0);
    CHECK_THAT(again.out, Contains("9 complete"));
    CHECK_THAT(line_after(again.out, "more trials: "), Contains(" --trials 18 "));
    CHECK_THAT(again.out, Contains("look closer: hpo-analyze summary --store 'my runs.db' --study s\n"));
}

TEST_CASE("the last line of a run names the tool that has something to explain") {
    const Workshop workshop;
    const auto ends = [&](const std::string& fault, const std::string& more) {
        workshop.write("s.lua", study("{ \"fault\", fault = \"" + fault + "\", limit = 8 }", "trial:float(\"x\", 0, 1)", more));
        return tune(workshop, {"run", "s.lua", "--trials", "2", "--store", fault + ".db", "--plugin-dir", plugins, "--progress", "none",
                               "--guard", "unlimited"});
    };
    CHECK_THAT(ends("throw", "").out, Contains("explain: hpo-analyze failures --store throw.db"));
    CHECK_THAT(ends("oom_text", "").out, Contains("explain: hpo-analyze oom --store oom_text.db"));
    CHECK_THAT(ends("none", "").out, Contains("look closer: hpo-analyze summary --store none.db"));
}

TEST_CASE("a study without one usable trial does not end in status 0") {
    const Workshop workshop;
    workshop.write("s.lua", study("{ \"fault\", fault = \"throw\" }", "trial:float(\"x\", 0, 1)",
                                  "on_failure = function() return hpo.prune \"no\" end,"));
    const auto pruned = tune(workshop, {"run", "s.lua", "--trials", "2", "--plugin-dir", plugins, "--progress", "none"});
    CHECK(pruned.status == 1);
    CHECK_THAT(pruned.error, Contains("hpo-tune: error: study s: none of its 2 trials has a value that could be used\n"));
}

TEST_CASE("what changed since a study's latest run is told in one line") {
    const Workshop workshop;
    const auto run = [&](const std::string& space, std::vector<std::string> more) {
        workshop.write("s.lua", study("\"quadratic\"", space));
        std::vector<std::string> words{"run", "s.lua", "--progress", "none"};
        words.insert(words.end(), more.begin(), more.end());
        return tune(workshop, words);
    };
    CHECK(run("trial:float(\"x\", -5, 5) trial:float(\"y\", -1, 1)", {"--trials", "1"}).error.empty());
    CHECK(run("trial:float(\"x\", -5, 5) trial:float(\"y\", -1, 1)", {"--trials", "2", "--seed", "4"}).error.empty());
    const auto changed = run("trial:float(\"x\", -9, 5)", {"--trials", "3", "--device-memory", "64MiB"});
    CHECK_THAT(changed.error, Contains("hpo-tune: note: since the latest run of study s: device_memory is 64MiB, was all there is; "
                                       "x is float [-9, 5], was float [-5, 5]; y is no longer asked for\n"));
    CHECK(changed.status == 0);
    const auto back = run("trial:float(\"x\", -9, 5) trial:float(\"y\", -1, 1)", {"--trials", "4", "--device-memory", "64MiB"});
    CHECK_THAT(back.error, Contains("since the latest run of study s: y is new\n"));
}

TEST_CASE("more trials than the space has combinations get a note") {
    const Workshop workshop;
    workshop.write("s.lua", study("\"quadratic\"", "trial:int(\"x\", 1, 3) trial:int(\"y\", 1, 4)"));
    const std::string note = "--trials: 13 trials, but the space has 12 combinations: the same ones will run several times";
    CHECK_THAT(tune(workshop, {"run", "s.lua", "--trials", "13", "--progress", "none"}).error, Contains("hpo-tune: note: " + note + "\n"));
    CHECK_THAT(tune(workshop, {"check", "s.lua", "--trials", "13"}).out, Contains(note + "\n"));
    CHECK(tune(workshop, {"run", "s.lua", "--trials", "12", "--store", "b.db", "--progress", "none"}).error.empty());
    CHECK_THAT(tune(workshop, {"check", "s.lua", "--trials", "5", "--fix", "x=2"}).out, Contains("the space has 4 combinations"));
}

TEST_CASE("a run ends without a failure when each configuration was tried once, and a later run adds none") {
    const Workshop workshop;
    workshop.write("s.lua",
                   study("\"quadratic\"",
                         "local x = trial:int(\"x\", 1, 3) local y = trial:int(\"y\", 1, 4) trial:require(x < y, \"x is not below y\")"));
    for (const char* const again : {"first", "second"}) {
        CAPTURE(again);
        const auto ended = tune(workshop, {"run", "s.lua", "--trials", "40", "--sampler", "grid", "--workers", "2", "--progress", "none"});
        CHECK(ended.status == 0);
        CHECK(ended.error.empty());
        CHECK_THAT(ended.out, Contains("study s: 6 complete;") && Contains("every configuration was tried: no other is proposed\n"));
    }
    const auto told = tune(workshop, {"run", "s.lua", "--trials", "40", "--sampler", "brute_force", "--json", "--progress", "none"});
    CHECK_THAT(told.out, Contains("\"all_tried\": true") && Contains("\"next_command\": null"));
    const auto fixed = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"run", "s.lua", "--store", "f.db", "--trials", "40", "--sampler", "grid", "--progress", "none"});
        return tune(workshop, words);
    };
    CHECK_THAT(fixed({"--study", "x", "--fix", "x=1"}).out, Contains(": 3 complete;") && Contains("every configuration was tried"));
    CHECK_THAT(fixed({"--study", "xy", "--fix", "x=1", "--fix", "y=2"}).out, Contains(": 1 complete;"));
    CHECK_THAT(tune(workshop, {"run", "s.lua", "--trials", "40", "--sampler", "random", "--progress", "none"}).error,
               Contains("the same ones will run several times"));
    workshop.write("f.lua", study("\"quadratic\"", "trial:float(\"x\", 0, 1)"));
    CHECK_THAT(tune(workshop, {"run", "f.lua", "--study", "f", "--sampler", "brute_force", "--progress", "none"}).error,
               Contains("'x' is float [0, 1]; expected a step"));
    const auto checked = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"check", "f.lua", "--study", "g", "--sampler", "brute_force"});
        return tune(workshop, words);
    };
    CHECK_THAT(checked({}).error, Contains("hpo-tune: error: sampler brute_force: parameter 'x' is float [0, 1]; expected a step"));
    CHECK(checked({"--fix", "x=0.5"}).error.empty());
}

TEST_CASE("a new study has the sampler auto, which says what it chose, and one that goes on keeps its own") {
    const Workshop workshop;
    std::string script = study("\"quadratic\"", "trial:float(\"x\", -5, 5) trial:float(\"y\", -5, 5)");
    const std::string named = "sampler = \"random\", ";
    script.erase(script.find(named), named.size());
    workshop.write("s.lua", script);
    const auto run = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"run", "s.lua", "--progress", "none"});
        const auto ended = tune(workshop, words);
        CHECK(ended.status == 0);
        return ended.error;
    };
    CHECK(run({"--study", "new", "--trials", "3"}) ==
          "hpo-tune: note: sampler auto: gp, and for each second trial the least of a quadratic around the best one, because all "
          "parameters are numbers; gp, and cmaes for each third, while values are noisy or once trials were infeasible; from 250 complete "
          "trials on "
          "cmaes, and tpe for each third; tpe alone while more than a quarter of the trials is pruned\n");
    CHECK(run({"--study", "old", "--trials", "2", "--sampler", "qmc:scramble=false"}).empty());
    const std::string first = run({"--study", "old", "--trials", "4"});
    CHECK_THAT(first, Contains(", which the study had before; --sampler auto changes it\n") && Contains("sampler qmc:"));
    CHECK(run({"--study", "old", "--trials", "6"}) == first);
    CHECK_THAT(run({"--study", "old", "--trials", "8", "--sampler", "auto"}), Contains("sampler auto: gp"));
    CHECK_THAT(run({"--study", "old", "--trials", "9"}), Contains("sampler auto: gp"));
}

TEST_CASE("a study that goes on keeps its seeds, and its result has means") {
    const Workshop workshop;
    workshop.write("s.lua", study("\"quadratic\"", "trial:float(\"x\", -5, 5) trial:float(\"y\", -5, 5)"));
    const auto run = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"run", "s.lua", "--progress", "none", "--workers", "1"});
        return tune(workshop, words);
    };
    CHECK_THAT(run({"--trials", "3", "--seeds", "3"}).out, Contains("the mean of 3 seeds (trials 0, 1, 2)"));
    const auto second = run({"--trials", "6"});
    CHECK_THAT(second.error, Contains("note: seeds 3, which the study had before; --seeds 1 changes it"));
    CHECK_THAT(second.out, Contains("the mean of 3 seeds"));
    CHECK(run({"--trials", "7", "--seeds", "1"}).error.find("seeds 3") == std::string::npos);
    CHECK_THAT(tune(workshop, {"run", "s.lua", "--seeds", "1001"}).error,
               Contains("--seeds: got '1001'; expected a whole number from 1 to 1000"));
}

TEST_CASE("save-best with a word behind it says that it takes its folder after =") {
    const Workshop workshop;
    workshop.write("s.lua", study("\"quadratic\"", "trial:float(\"x\", -5, 5)"));
    for (const std::vector<std::string>& words : {std::vector<std::string>{"run", "s.lua", "--save-best", "mine 2"},
                                                  std::vector<std::string>{"check", "--save-best", "mine 2", "s.lua"}}) {
        const auto refused = tune(workshop, words);
        CHECK(refused.status == 2);
        CHECK_THAT(refused.error, Contains("--save-best takes its folder after =: --save-best='mine 2'"));
    }
}
