// SPDX-License-Identifier: MIT
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"
#include "support/wording.hpp"

using namespace hpo::test;
using Catch::Contains;

TEST_CASE("one bad enqueued trial fails alone, and no healthy one is interrupted") {
    const Workshop workshop;
    workshop.write("bowl.lua", R"(
local hpo = require "hpo"
return hpo.study {
  name = "bowl", trainer = { "quadratic", steps = 2, sleep_ms = 20 },
  objective = { metric = "value", direction = "minimize" },
  sampler = "random", pruner = "none", recovery = "fail", trials = 8, workers = 2,
  space = function(trial) trial:float("x", -5, 5) trial:categorical("y", { 1, 2 }) end,
}
)");
    const std::string store = workshop.path("hpo.db").string();
    {
        hpo::store::Sqlite made{store};
        const hpo::Study study = made.open_study("bowl", std::vector{hpo::Direction::minimize}, hpo::Store::Open::create);
        made.enqueue(study.id, {{"x", 1.0}});
        made.enqueue(study.id, {{"x", 77.0}});
        made.enqueue(study.id, {{"x", std::string{"wide"}}, {"y", std::int64_t{1}}});
        made.enqueue(study.id, {{"x", std::numeric_limits<double>::quiet_NaN()}});
        made.enqueue(study.id, {{"y", std::int64_t{3}}});
        made.enqueue(study.id, {{"x", 2.0}, {"learning_rate", 0.1}});
    }
    const std::vector<std::string> words{tool("hpo-tune"), "run", "bowl.lua", "--store", store, "--progress", "plain"};
    const auto run = run_command(workshop, words);
    INFO(run.error);
    CHECK(run.status == 0);
    CHECK_THAT(run.error, Contains("trial 1: failed, cannot run as enqueued: bowl.lua:7: " + fixed_parameter("x", "77", "float [-5, 5]")));
    CHECK_THAT(run.error, Contains("note: trial 5: enqueued parameter 'learning_rate': the space does not ask for it in this trial"));
    CHECK_THAT(run.error, !Contains("interrupted"));

    hpo::store::Sqlite opened{store};
    std::vector<hpo::Trial> trials;
    opened.refresh(1, trials);
    REQUIRE(trials.size() == 8);
    for (const hpo::Trial& trial : trials) {
        const bool bad = trial.number >= 1 && trial.number <= 4;
        CHECK(trial.state == (bad ? hpo::TrialState::fail : hpo::TrialState::complete));
        CHECK(hpo::counts_as_done(trial));
    }
    const auto shown = run_command(workshop, {tool("hpo-analyze"), "trial", "4", "--json", "--store", store});
    CHECK_THAT(shown.out, Contains("cannot run as enqueued: ") && Contains(fixed_parameter("y", "3", "one of 1, 2")));
    const auto told = [&](const char* command) { return run_command(workshop, {tool("hpo-analyze"), command, "--store", store}).out; };
    for (const char* command : {"trials", "summary", "failures", "oom"}) {
        CAPTURE(command);
        CHECK_THAT(told(command), Contains("not_run") && !Contains("trainer_error"));
    }
    CHECK_THAT(run.out, Contains("explain: hpo-analyze failures --store "));
    const auto again = run_command(workshop, words);
    CHECK(again.status == 0);
}
