// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;
using Catch::Contains;

namespace {

/// Starts of a program, counted from 1, in which its file system is away.
struct Outage {
    int first = 2;
    int back = 0;  ///< the first start after it
};

CommandResult run(const Workshop& workshop, const std::string& study, const Outage& away, std::vector<std::string> words) {
    workshop.write("away.sh",
                   "echo >> starts-$1\nstarts=$(wc -l < starts-$1)\n"
                   "if [ $starts -ge $3 ] && [ $starts -lt $2 ]; then\n"
                   "  echo \"OSError: [Errno 116] Stale file handle: '/data/train.bin'\" >&2; exit 1\nfi\n"
                   "echo '@hpo {\"value\": 1}'\n");
    workshop.write("s.lua", "local hpo = require \"hpo\"\nreturn hpo.study { name = \"" + study +
                                "\", trainer = hpo.command { \"sh\", \"away.sh\", \"" + study + "\", \"" + std::to_string(away.back) +
                                "\", \"" + std::to_string(away.first) +
                                "\" },\n  objective = { metric = \"value\", direction = \"minimize\" }, sampler = \"random\",\n"
                                "  pruner = \"none\", workers = 1, space = function(trial) trial:float(\"x\", -5, 5) end }\n");
    words.insert(words.begin(), {tool("hpo-tune"), "run", "s.lua", "--progress", "plain"});
    return run_command(workshop, words);
}

}  // namespace

TEST_CASE("while a file system is away, trials pause, and none is lost once it is back") {
    const Workshop workshop;
    const auto ended = run(workshop, "ladder", {.back = 7}, {"--trials", "4", "--recovery", "ladder:rungs=backoff(1min, 0.05s)+prune"});
    CAPTURE(ended.out, ended.error);
    CHECK(ended.status == 0);
    CHECK_THAT(ended.out, Contains("study ladder: 4 complete"));
    CHECK_THAT(ended.error + ended.out, Contains("backoff: a network file system that was away: retry after 0.05 s"));
    const auto told = run_command(workshop, {tool("hpo-analyze"), "failures", "--study", "ladder"});
    CHECK_THAT(told.out, Contains("  backoff  environment"));
    CHECK_THAT(told.out, Contains("host   environment"));

    const auto by_default = run(workshop, "default", {.back = 3}, {"--trials", "3", "--recovery", "shrink_micro_batch:outage_seconds=1"});
    CHECK(by_default.status == 0);
    CHECK_THAT(
        by_default.out,
        Contains("study default: 3 complete; 0 attempts out of memory, 0 trials recovered; 1 trial recovered from other failures\n"));
}

TEST_CASE("what was never there is not waited for: the run ends by its breaker") {
    const Workshop workshop;
    const auto ended = run(workshop, "never", {.first = 1, .back = 1000}, {"--trials", "50"});
    CAPTURE(ended.out, ended.error);
    CHECK(ended.status == 5);
    CHECK_THAT(ended.out, Contains("10 failed"));
    CHECK_THAT(ended.error,
               Contains("10 trials in a row failed in the same way: environment on cpu: OSError: [Errno 116] Stale file handle"));
    CHECK_THAT(ended.error, !Contains("backoff"));
}
