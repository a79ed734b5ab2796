// SPDX-License-Identifier: MIT
#include <filesystem>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/command.hpp"
#include "support/wording.hpp"

using namespace hpo::test;
using Catch::Contains;

TEST_CASE("a run of a trainer that always throws ends by its breaker, with status 5, what failed and what was tried") {
    const Workshop workshop;
    const auto run = [&](const std::string& members, std::vector<std::string> words) {
        workshop.write(
            "s.lua",
            "local hpo = require \"hpo\"\nreturn hpo.study { name = \"s\", trainer = { \"fault\", fault = \"throw\" }, " + members +
                " objective = { metric = \"value\", direction = \"minimize\" }, sampler = \"random\", pruner = \"none\", workers = 1,\n"
                "  space = function(trial) trial:float(\"x\", -5, 5) end }\n");
        words.insert(words.begin(),
                     {tool("hpo-tune"), "run", "s.lua", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers", "--progress", "none"});
        return run_command(workshop, words);
    };
    const auto ended = run("", {"--trials", "100"});
    CHECK(ended.status == 5);
    CHECK_THAT(ended.out, Contains("study s: 10 failed"));
    CHECK(ended.error ==
          "hpo-tune: error: study s: the run was ended, because 10 trials in a row failed in the same way: trainer_error on cpu: asked to "
          "throw "
          "(trial 9); --breaker 0 goes on whatever fails\n");
    const auto again = run("breaker = 3,", {"--trials", "100", "--json"});  // it begins to count anew
    CHECK(again.status == 5);
    CHECK_THAT(again.out, Contains("\"failed\": 13") && Contains("\"signature\": \"trainer_error, std::logic_error: asked to throw\"") &&
                              Contains("\"latest_trial\": 12"));
    const auto one = run("", {"--trials", "100", "--breaker", "1"});
    CHECK(one.status == 5);
    CHECK_THAT(one.error, Contains("the run was ended, because 1 trial failed: trainer_error on cpu: asked to throw (trial 13)"));
    const auto never = run("", {"--trials", "30", "--breaker", "0"});
    CHECK(never.status == 1);
    CHECK_THAT(never.out, Contains("30 failed"));
    const auto wrong = run("", {"--breaker", "-1"});
    CHECK(wrong.status == 2);
    CHECK_THAT(wrong.error, Contains("--breaker: got '-1'; " + whole_number_of_at_least(0)));
}

TEST_CASE("a model that cannot be built in a part of the space fails those trials, and refuses a study of that part alone") {
    const Workshop workshop;
    const auto run = [&](const std::string& range, const std::string& more) {
        workshop.write(
            "part.lua",
            "local hpo = require \"hpo\"\nreturn hpo.study { name = \"part\", trainer = { \"fault\", fault = \"build_below_0\" },\n"
            "  objective = { metric = \"value\", direction = \"minimize\" }, sampler = \"random\", pruner = \"none\", trials = 20,\n"
            "  breaker = 0, workers = 1, " +
                more + " space = function(trial) trial:float(\"x\", " + range + ") end }\n");
        return run_command(workshop, {tool("hpo-tune"), "run", "part.lua", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers", "--progress",
                                      "plain", "--store", range.substr(0, 2) + ".db"});
    };
    bool began_outside = false;  // the proposal that is looked at first
    for (const char* seed : {"1", "2", "3", "4", "5", "6"}) {
        const auto mixed = run("-1, 1", "seed = " + std::string{seed} + ", ");
        CAPTURE(seed, mixed.error);
        CHECK(mixed.status == 0);
        began_outside = began_outside || mixed.error.find(
                                             "trials in a part of the space will fail: trainer fault: build: no model for an x "
                                             "below 0") != std::string::npos;
        std::filesystem::remove(workshop.path("-1.db"));
    }
    CHECK(began_outside);
    const auto none = run("-2, -1", "");
    CHECK(none.status == 2);
    CHECK_THAT(none.error, Contains("hpo-tune: error: trainer fault: build: no model for an x below 0"));
}

TEST_CASE("attempts that hang end by --attempt-time, and the run goes on") {
    const Workshop workshop;
    workshop.write(
        "s.lua",
        "local hpo = require \"hpo\"\nreturn hpo.study { name = \"s\", trainer = \"fault\", attempt_time = \"500ms\", workers = 1,\n"
        "  objective = { metric = \"value\", direction = \"minimize\" }, sampler = \"random\", pruner = \"none\", trials = 2,\n"
        "  space = function(trial) trial:categorical(\"fault\", { \"hang\" }) end }\n");
    const auto run = [&](std::vector<std::string> words) {
        words.insert(words.begin(),
                     {tool("hpo-tune"), "run", "s.lua", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers", "--progress", "plain"});
        return run_command(workshop, words);
    };
    const auto ended = run({});
    CHECK(ended.status == 1);
    CHECK_THAT(ended.error + ended.out, Contains("timeout: it took longer than the 0.5 s that an attempt may take"));
    const auto wrong = run({"--attempt-time", "0s"});
    CHECK(wrong.status == 2);
    CHECK_THAT(wrong.error, Contains("--attempt-time: got '0s'; expected a duration from 1ms to a year"));
    const auto silent = run({"--silence-time", "soon"});
    CHECK(silent.status == 2);
    CHECK_THAT(silent.error, Contains("--silence-time"));
}

TEST_CASE("a study whose every configuration fails ends by itself with its summary, and the same command adds no trial") {
    const Workshop workshop;
    workshop.write("s.lua", R"(
local hpo = require "hpo"
return hpo.study { name = "s", trainer = "fault", objective = { metric = "value", direction = "minimize" }, sampler = "random",
  pruner = "none", workers = 1, trials = 30,
  space = function(trial) trial:categorical("fault", { "throw", "none" }) end }
)");
    const auto run = [&](std::vector<std::string> words) {
        words.insert(words.begin(),
                     {tool("hpo-tune"), "run", "s.lua", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers", "--progress", "none"});
        return run_command(workshop, words);
    };
    const std::string told =
        "no configuration is left to try: all that were proposed in a row had failed before; of the last one, 3 trials with these "
        "parameters failed in the same way, the latest in trial ";
    for (int call = 0; call < 2; ++call) {
        const auto failed = run({"--fix", "fault=throw"});
        CAPTURE(failed.error);
        CHECK(failed.status == 5);
        CHECK_THAT(failed.out, Contains("study s: 3 failed") && !Contains("go on:"));
        CHECK_THAT(failed.error, Contains("hpo-tune: error: study s: " + told + "2: asked to throw"));
    }
    CHECK(run({"--fix", "fault=none", "--trials", "5"}).status == 0);
    const auto with_a_value = run({"--fix", "fault=throw", "--json"});
    CHECK(with_a_value.status == 5);
    CHECK_THAT(with_a_value.out, Contains("\"complete\": 2") && Contains("\"failed\": 3") &&
                                     Contains("\"exhausted\": \"3 trials with these parameters failed in the same way") &&
                                     Contains("\"next_command\": null"));
}
