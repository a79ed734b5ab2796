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
               Contains("What the rungs of recovery did") && Contains("     2       2  shrink_micro_batch  out_of_memory (capacity)"));
    for (const char* page : {"oom", "memory"}) {
        const auto shown = run_command(workshop, {tool("hpo-analyze"), page, "--study", "oom_once_above"});
        CHECK_THAT(shown.out,
                   Contains("What the rungs of recovery did") && Contains("     2       2  shrink_micro_batch  out_of_memory (capacity)"));
        const auto json = run_command(workshop, {tool("hpo-analyze"), page, "--study", "oom_once_above", "--json"});
        CHECK_THAT(json.out, Contains(R"("rung": "shrink_micro_batch")"));
    }
    CHECK(run("segv", {}).status == 1);
    const auto died = run_command(workshop, {tool("hpo-analyze"), "failures", "--study", "segv"});
    CHECK_THAT(died.out, Contains("     2       0  fresh_worker  crash"));
    const auto trial = run_command(workshop, {tool("hpo-analyze"), "trial", "1", "--study", "segv"});
    CHECK_THAT(trial.out, Contains("fresh_worker: crash: retry in a fresh worker"));
    CHECK_THAT(died.out, Contains("on cpu; in 4 workers, once in each; 20") && Contains(" UTC"));
    // The second study of this name goes on with another ladder.
    CHECK(run("segv", {"--recovery", "ladder:rungs=wait(30min, 10s)+retry(2)+prune", "--trials", "3"}).status == 1);
    const auto again = run_command(workshop, {tool("hpo-analyze"), "trial", "2", "--study", "segv"});
    CHECK_THAT(again.out, Contains("retry: crash: retry as it was (1 of 2)") && Contains("retry: crash: retry as it was (2 of 2)"));
    const auto unclear = run("segv", {"--recovery", "ladder:rungs=wait(soon)"});
    CHECK(unclear.status == 2);
    CHECK_THAT(unclear.error,
               Contains("--recovery: ladder: rungs: got 'wait(soon)'; expected timeout as a duration above 0, such as 10min"));
    const auto wrong = run("segv", {"--recovery", "ladder:rungs=wait+ladder"});
    CHECK(wrong.status == 2);
    CHECK_THAT(wrong.error, Contains("--recovery: ladder: rungs: unknown rung 'ladder'"));
}
