// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>

#include "support/catch.hpp"
#include "support/command.hpp"
#include "support/wording.hpp"

using namespace hpo::test;
using Catch::Contains;
using Catch::Matches;

namespace {

/// Every second trial ends its process.
const std::string crashing = R"(
local hpo = require "hpo"
return hpo.study {
  name = "logged", trainer = "fault", sampler = "random", pruner = "none", workers = 1, trials = 4, seed = 5,
  recovery = { "ladder", rungs = "fresh_worker+prune" },
  objective = { metric = "value", direction = "minimize" },
  space = function(trial)
    trial:float("x", 0, 1)
    trial:categorical("fault", { "none", "segv" }, { only = { trial.number % 2 == 0 and "none" or "segv" } })
  end,
}
)";

CommandResult run_logged(const Workshop& workshop, std::vector<std::string> more) {
    workshop.write("logged.lua", crashing);
    std::vector<std::string> words{tool("hpo-tune"), "run", "logged.lua", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers",
                                   "--progress",     "none"};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(workshop, words);
}

}  // namespace

TEST_CASE("the log of a run tells its beginning, trials, failures, decisions and end, each line with time and process") {
    const Workshop workshop;
    const auto run = run_logged(workshop, {"--log", "run.log"});
    INFO(run.error);
    REQUIRE(run.status == 0);
    const std::string log = read_file(workshop.path("run.log"));
    INFO(log);
    std::istringstream text{log};
    for (std::string line; std::getline(text, line);)
        CHECK_THAT(line, Matches(R"(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ \[\d+\] (run|study|note|trial \d+): .*)"));
    CHECK_THAT(log, Contains("run: begins: hpo-tune ") && Contains(": hpo-tune run logged.lua "));
    CHECK_THAT(log, Contains("study logged in hpo.db, trainer fault, 4 trials in all, seed 5"));
    CHECK_THAT(log, Contains("recovery ladder:rungs=fresh_worker+prune"));
    CHECK_THAT(log, Contains("device cpu, 1 worker of "));
    CHECK_THAT(log, Contains("trial 1: begins: x=") && Contains("fault=segv"));
    CHECK_THAT(log, Contains("trial 1:   failure: crash (blame unknown; signal 11): " + ended_by_signal("SIGSEGV")));
    CHECK_THAT(log, Contains("trial 1:   decision: fresh_worker: crash: retry in a fresh worker"));
    CHECK_THAT(log, Contains("trial 1: attempt 2 begins on cpu in a fresh worker"));
    CHECK_THAT(log, Contains("trial 1:   decision: crash; tried: fresh_worker"));
    CHECK_THAT(log, Contains("trial 2: ended: COMPLETE, value "));
    CHECK_THAT(log, Contains("run: ends: 2 complete, 2 failed; status 0\n"));
}

TEST_CASE("two runs of one study share a log, and each line is of one of them") {
    const Workshop first, second;
    first.write("logged.lua", crashing);
    const std::string log_file = first.path("run.log").string();
    const std::vector<std::string> words{tool("hpo-tune"),
                                         "run",
                                         first.path("logged.lua").string(),
                                         "--trials",
                                         "30",
                                         "--store",
                                         first.path("hpo.db").string(),
                                         "--plugin-dir",
                                         HPO_BINARY_DIR "/tests/trainers",
                                         "--progress",
                                         "none",
                                         "--breaker",
                                         "0",
                                         "--log",
                                         log_file};
    const pid_t a = start_command(first, words);
    const pid_t b = start_command(second, words);
    const auto ended_a = finish_command(first, a);
    const auto ended_b = finish_command(second, b);
    INFO(ended_a.error << ended_b.error);
    CHECK(ended_a.status == 0);
    CHECK(ended_b.status == 0);
    std::istringstream text{read_file(log_file)};
    const std::string of_a = " [" + std::to_string(a) + "] ";
    const std::string of_b = " [" + std::to_string(b) + "] ";
    std::size_t begun = 0, ended = 0;
    for (std::string line; std::getline(text, line);) {
        CAPTURE(line);
        CHECK((line.find(of_a) == 20) != (line.find(of_b) == 20));
        CHECK(std::count(line.begin(), line.end(), 'Z') >= 1);
        begun += line.find(": begins: x=") != std::string::npos ? 1 : 0;
        ended += line.find(": ended: ") != std::string::npos ? 1 : 0;
    }
    CHECK(begun == 30);
    CHECK(ended == 30);
}

TEST_CASE("a log that cannot be written is said once and costs no trial, one that cannot be opened is refused") {
    const Workshop workshop;
    const auto full = run_logged(workshop, {"--log", "/dev/full"});
    CHECK(full.status == 0);
    CHECK(full.error == "hpo-tune: note: the log cannot be written: /dev/full: No space left on device; the run goes on without it\n");
    const auto nowhere = run_logged(workshop, {"--log", "no/folder/run.log"});
    CHECK(nowhere.status == 2);
    CHECK_THAT(nowhere.error,
               Contains("hpo-tune: error: --log: 'no/folder/run.log' cannot be opened for writing: No such file or directory"));
    const auto small = run_logged(workshop, {"--log", "run.log", "--log-size", "10"});
    CHECK(small.status == 2);
    CHECK_THAT(small.error, Contains("--log-size: got '10'; expected at least 4KiB"));
    CHECK_FALSE(std::filesystem::exists(workshop.path("run.log")));
    // What the run reads or writes itself is no log, nor is any other database.
    for (const char* own : {"hpo.db", "logged.lua"}) {
        const auto refused = run_logged(workshop, {"--store", "hpo.db", "--log", own});
        CHECK(refused.status == 2);
        CHECK_THAT(refused.error, Contains("--log: got '" + std::string{own} + "', which the run reads or writes itself"));
    }
    REQUIRE(run_logged(workshop, {"--store", "other.db"}).status == 0);
    const auto database = run_logged(workshop, {"--store", "hpo.db", "--log", "other.db"});
    CHECK(database.status == 2);
    CHECK_THAT(database.error, Contains("--log: 'other.db' is an SQLite database; expected a text file, or a new one"));
}
