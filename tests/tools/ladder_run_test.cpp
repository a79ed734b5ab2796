// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;
using Catch::Contains;

TEST_CASE("a ladder recovers trials, and hpo-analyze failures counts what its rungs did") {
    const Workshop workshop;
    const auto run = [&](const std::string& fault, std::vector<std::string> words) {
        workshop.write(
            "s.lua",
            "local hpo = require \"hpo\"\nreturn hpo.study { name = \"" + fault + "\", trainer = { \"fault\", fault = \"" + fault +
                "\", batch = 32 }, recovery = { \"ladder\", rungs = \"shrink_micro_batch+fresh_worker+prune\" },\n"
                "  objective = { metric = \"value\", direction = \"minimize\" }, sampler = \"random\", pruner = \"none\", workers = 1,\n"
                "  trials = 2, space = function(trial) trial:float(\"x\", -5, 5) end }\n");
        words.insert(words.begin(),
                     {tool("hpo-tune"), "run", "s.lua", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers", "--progress", "none"});
        return run_command(workshop, words);
    };
    CHECK(run("oom_once_above", {}).status == 0);
    const auto told = run_command(workshop, {tool("hpo-analyze"), "failures", "--study", "oom_once_above"});
    CHECK(told.status == 0);
    CHECK_THAT(told.out,
               Contains("What the rungs of recovery did") && Contains("     2       2  shrink_micro_batch  out_of_memory (neighbour)"));
    CHECK(run("segv", {}).status == 1);
    const auto died = run_command(workshop, {tool("hpo-analyze"), "failures", "--study", "segv"});
    CHECK_THAT(died.out, Contains("     2       0  fresh_worker  crash"));
    const auto trial = run_command(workshop, {tool("hpo-analyze"), "trial", "1", "--study", "segv"});
    CHECK_THAT(trial.out, Contains("fresh_worker: crash: retry in a fresh worker"));
    const auto wrong = run("segv", {"--recovery", "ladder:rungs=wait+ladder"});
    CHECK(wrong.status == 2);
    CHECK_THAT(wrong.error, Contains("--recovery: ladder: rungs: unknown rung 'ladder'"));
}
