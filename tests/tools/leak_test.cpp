// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>
#include <set>

#include "hpo/core/memory_leak.hpp"
#include "hpo/store/snapshot.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;

TEST_CASE("a run names a leak, replaces the worker, and goes on, and the store has it") {
    const Workshop workshop;
    workshop.write("leak.lua", R"(
local hpo = require "hpo"
return hpo.study { name = "leak", trainer = { "fault", fault = hpo.option("fault", "leak", "what goes wrong"), weights = 8388608 },
  objective = { metric = "value", direction = "minimize" }, sampler = "random", trials = 6, workers = 1,
  space = function(trial) trial:float("x", 0, 1) end }
)");
    const auto tune = [&](std::vector<std::string> more) {
        std::vector<std::string> words{tool("hpo-tune"), "run",   "leak.lua",        "--plugin-dir", HPO_BINARY_DIR "/tests/trainers",
                                       "--progress",     "plain", "--device-memory", "64MiB",        "--guard",
                                       "unlimited"};
        words.insert(words.end(), more.begin(), more.end());
        return run_command(workshop, words);
    };
    const auto leaking = tune({"--store", "leak.db"});
    INFO(leaking.error);
    CHECK(leaking.status == 0);
    CHECK_THAT(leaking.error + leaking.out, Catch::Contains("memory leak, 8.00 MiB were still allocated after it; its worker is replaced"));
    const auto honest = tune({"--store", "honest.db", "--set", "fault=honest"});
    CHECK(honest.status == 0);
    CHECK_THAT(honest.error + honest.out, !Catch::Contains("leak,"));
    const auto workers = [&](const char* store, bool leaks) {
        hpo::store::Snapshot snapshot{workshop.path(store).string()};
        std::set<std::int64_t> pids;
        const auto trials = snapshot.trials(snapshot.studies().at(0));
        CHECK(trials.size() == 6);
        for (const hpo::Trial& trial : trials) {
            CHECK(trial.state == hpo::TrialState::complete);
            CHECK(hpo::leaked_bytes(trial.attempts.at(0)) == (leaks ? std::optional<std::int64_t>{8 << 20} : std::nullopt));
            pids.insert(trial.attempts.at(0).worker_pid);
        }
        return pids.size();
    };
    for (const CommandResult& measured : {leaking, honest}) CHECK_THAT(measured.error, !Catch::Contains("has measured no memory"));
    CHECK(workers("leak.db", true) == 6);
    CHECK(workers("honest.db", false) == 1);
}

TEST_CASE("a limit of device memory that a trainer does not measure is told once, and host memory that grows with each trial") {
    const Workshop workshop;
    workshop.write("grow.lua", R"(
local hpo = require "hpo"
return hpo.study { name = "grow", trainer = { "fault", fault = "grow", weights = 104857600 },
  objective = { metric = "value", direction = "minimize" }, sampler = "random", trials = 6, workers = 1,
  space = function(trial) trial:float("x", 0, 1) end }
)");
    const auto tune = [&](std::vector<std::string> more) {
        std::vector<std::string> words{tool("hpo-tune"), "run",   "grow.lua", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers",
                                       "--progress",     "plain", "--guard",  "unlimited"};
        words.insert(words.end(), more.begin(), more.end());
        return run_command(workshop, words);
    };
    const auto limited = tune({"--device-memory", "64MiB"});
    INFO(limited.error);
    CHECK(limited.status == 0);
    const std::string note = "hpo-tune: note: --device-memory: trainer fault has measured no memory in trial 0: the limit does not bound";
    CHECK_THAT(limited.error, Catch::Contains(note));
    CHECK(limited.error.find("has measured no memory") == limited.error.rfind("has measured no memory"));
    CHECK_THAT(limited.error, Catch::Contains("note: trial 4: the host memory of its worker has grown by ") &&
                                  Catch::Contains("over its latest attempts; the worker is replaced"));
    const auto shown = run_command(workshop, {tool("hpo-analyze"), "trial", "4", "--store", "hpo.db"});
    CHECK_THAT(shown.out, Catch::Contains("growth"));
    CHECK_THAT(tune({"--store", "free.db", "--trials", "1"}).error, !Catch::Contains("has measured no memory"));
}
