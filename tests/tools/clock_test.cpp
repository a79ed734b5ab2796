// SPDX-License-Identifier: MIT
#ifdef HPO_JUMPING_CLOCK

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"
#include "support/wording.hpp"

using namespace hpo::test;
using namespace std::chrono_literals;

namespace {

const std::string slow_bowl = R"(
local hpo = require "hpo"
return hpo.study {
  name = "bowl", trainer = { "quadratic", steps = 3, sleep_ms = 40 }, objective = { metric = "value", direction = "minimize" },
  sampler = "random", pruner = "none", recovery = "fail", trials = 120, workers = 2, attempt_time = "60s", silence_time = "60s",
  space = function(trial) trial:float("x", -5, 5) end,
}
)";

}  // namespace

TEST_CASE("a clock that is set by hours, forth and back, ends no attempt and no run, and two runs still share their study") {
    const Workshop first, second;
    const std::string offset = first.write("offset", "0");
    const std::string script = first.write("bowl.lua", slow_bowl);
    const std::vector<std::string> words{"/usr/bin/env",
                                         "LD_PRELOAD=" HPO_JUMPING_CLOCK,
                                         "HPO_TEST_CLOCK_OFFSET=" + offset,
                                         tool("hpo-tune"),
                                         "run",
                                         script,
                                         "--store",
                                         first.path("hpo.db").string(),
                                         "--progress",
                                         "plain",
                                         "--log",
                                         first.path("run.log").string()};
    const pid_t a = start_command(first, words);
    const pid_t b = start_command(second, words);
    const auto ended_trials = [&] { return times(read_file(first.path(".error")) + read_file(second.path(".error")), trial_is_complete); };
    // Ten hours ahead, then a day behind.
    for (const auto& [seconds, after] : {std::pair{"36000", 10U}, std::pair{"-86400", 40U}, std::pair{"0", 80U}}) {
        CHECK(eventually([&] { return ended_trials() >= after; }));
        first.write("offset", seconds);
    }
    const auto ended_a = finish_command(first, a);
    const auto ended_b = finish_command(second, b);
    INFO(ended_a.error << ended_b.error);
    CHECK(ended_a.status == 0);
    CHECK(ended_b.status == 0);
    hpo::store::Sqlite store{first.path("hpo.db").string()};
    std::vector<hpo::Trial> trials;
    store.refresh(store.open_study("bowl", std::vector{hpo::Direction::minimize}, hpo::Store::Open::resume).id, trials);
    CHECK(trials.size() == 120);  // none was taken for lost, and run again
    CHECK(std::ranges::all_of(trials, [](const hpo::Trial& trial) { return trial.state == hpo::TrialState::complete; }));
    std::set<std::int64_t> days;  // the clock was really another one
    for (const hpo::Trial& trial : trials)
        days.insert(hpo::microseconds_since_epoch(trial.completed.value_or(hpo::Time{})) / 3'600'000'000);
    CHECK(days.size() >= 3);
}

#endif
