// SPDX-License-Identifier: MIT
#include <cstddef>
#include <map>
#include <string>

#include "hpo/core/failure.hpp"
#include "hpo/store/snapshot.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;
using hpo::FailureKind;

namespace {

/// Which failure a fault must be told as.
const std::map<std::string, FailureKind> told{
    {"segv", FailureKind::crash},
    {"abort", FailureKind::crash},
    {"sigkill_self", FailureKind::crash},
    {"exit", FailureKind::trainer_error},
    {"throw", FailureKind::trainer_error},
    {"nan", FailureKind::non_finite},
    {"spin_ignoring_stop", FailureKind::timeout},
    {"sigstop", FailureKind::timeout},
    {"hang_up", FailureKind::lost_worker},
    {"write_garbage", FailureKind::lost_worker},
    {"sticky", FailureKind::cuda_sticky},
    {"oom_text", FailureKind::out_of_memory},
    {"host_oom", FailureKind::host_out_of_memory},
};

}  // namespace

TEST_CASE("a study in which a third of the trials break their process ends by itself, and each failure is told as what it was") {
    const Workshop workshop;
    // Most trials have no fault, and two take their whole time.
    workshop.write("soak.lua", R"(
local hpo = require "hpo"
local faults = { "none", "segv", "abort", "sigkill_self", "exit", "throw", "nan", "hang_up", "write_garbage", "sticky", "oom_text", "host_oom",
                 "spin_ignoring_stop", "sigstop" }
return hpo.study {
  name = "soak", trainer = "fault", sampler = "random", pruner = "none", workers = 2, trials = 200, seed = 5, attempt_time = "8s",
  recovery = { "ladder", rungs = "fresh_worker+prune" },
  objective = { metric = "value", direction = "minimize" },
  space = function(trial)
    trial:float("x", 0, 1)
    local fault = "none"
    if trial.number % 3 == 0 then fault = faults[2 + trial.number // 3 % 11] end
    if trial.number == 50 then fault = "spin_ignoring_stop" end
    if trial.number == 98 then fault = "sigstop" end
    trial:categorical("fault", faults, { only = { fault } })
  end,
}
)");
    const auto ended = run_command(
        workshop, {tool("hpo-tune"), "run", "soak.lua", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers", "--progress", "none"});
    INFO(ended.out << ended.error);
    CHECK(ended.status == 0);
    hpo::store::Snapshot store{workshop.path("hpo.db")};
    const auto trials = store.trials(store.study("soak"));
    CHECK(trials.size() == 200);
    std::map<std::string, std::size_t> met;
    for (const hpo::Trial& trial : trials) {
        const std::string fault = std::get<std::string>(*trial.params.value("fault"));
        ++met[fault];
        CAPTURE(trial.number, fault);
        if (fault == "none") {  // no trial is lost to another's fault
            CHECK(trial.state == hpo::TrialState::complete);
            CHECK(trial.attempts.size() == 1);
            continue;
        }
        REQUIRE(!trial.attempts.empty());
        for (const hpo::Attempt& attempt : trial.attempts) {
            REQUIRE(attempt.failure);
            CHECK(to_text(attempt.failure->kind) == to_text(told.at(fault)));
        }
    }
    for (const auto& [fault, kind] : told) {
        CAPTURE(fault);
        CHECK(met[fault] > 0);
    }
}

TEST_CASE("hpo-analyze does not say that a reason is unknown if hpo ended a worker and said why") {
    const Workshop workshop;
    workshop.write("soak.lua", R"(
local hpo = require "hpo"
local faults = { "none", "hang_up", "write_garbage" }
return hpo.study {
  name = "soak", trainer = "fault", sampler = "random", pruner = "none", workers = 1, trials = 3, recovery = "fail",
  objective = { metric = "value", direction = "minimize" },
  space = function(trial)
    trial:float("x", 0, 1)
    trial:categorical("fault", faults, { only = { faults[1 + trial.number % 3] } })
  end,
}
)");
    const auto ended = run_command(
        workshop, {tool("hpo-tune"), "run", "soak.lua", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers", "--progress", "none"});
    INFO(ended.out << ended.error);
    CHECK(ended.status == 0);
    const auto oom = run_command(workshop, {tool("hpo-analyze"), "oom"});
    CHECK_THAT(oom.out, Catch::Contains("No out-of-memory in study soak: none in 3 trials") &&
                            Catch::Contains("2 lost_worker (the process is gone, or hpo ended it)"));
    for (const std::string& text : {ended.out, oom.out}) CHECK_THAT(text, !Catch::Contains("unknown reason"));
}
