// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "hpo/device/metered_device.hpp"
#include "hpo/store/snapshot.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;
using Catch::Contains;
using namespace std::chrono_literals;
using hpo::tests::mib;

namespace {

/// The account of a run's device, once there is one.
hpo::device::MeteredDevice device_of(pid_t run) {
    const std::filesystem::path file = "/dev/shm/hpo-device-" + std::to_string(run) + "-0";
    REQUIRE(eventually([&] { return std::filesystem::exists(file); }));
    return hpo::device::MeteredDevice::open(file);
}

/// A study whose attempts are predicted to need 8 MiB and 10 bytes for each example of a micro-batch, on a device of 64 MiB; each waits for
/// the file `go`.
struct Run {
    Workshop workshop;
    pid_t child;

    explicit Run(const std::string& weights, const std::string& batch) {
        workshop.write("live.lua", R"(
local hpo = require "hpo"
return hpo.study { name = "live", trainer = { "fault", fault = "wait_for_go", weights = )" +
                                       weights + ", batch = " + batch + R"( },
  objective = { metric = "value", direction = "minimize" }, sampler = "random", trials = 2, workers = 1, recovery = "fail",
  space = function(trial) trial:float("x", 0, 1) end }
)");
        child = start_command(workshop, {tool("hpo-tune"), "run", "live.lua", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers", "--guard",
                                         "live:base=dry_run", "--device-memory", "64MiB", "--progress", "plain"});
    }
    [[nodiscard]] std::vector<hpo::Trial> trials() const {
        hpo::store::Snapshot snapshot{workshop.path("hpo.db").string()};
        return snapshot.trials(snapshot.studies().at(0));
    }
    void go() const { workshop.write("go", ""); }
};

}  // namespace

TEST_CASE("an attempt waits while another process holds the device, names it, and starts when it has left") {
    const Run run{std::to_string(20 * mib), "32"};
    {
        auto device = device_of(run.child);
        REQUIRE(device.charge(50 * mib));  // this test is the other process
        run.go();
        CHECK(has_said(run.workshop,
                       "trial 0 waits for 20.00 MiB of the device: other processes leave 14.00 MiB of 64.00 MiB: test_tools, process " +
                           std::to_string(::getpid()) + ", has 50.00 MiB"));
        std::this_thread::sleep_for(500ms);
        CHECK(std::ranges::none_of(run.trials(), [](const hpo::Trial& trial) { return trial.state == hpo::TrialState::complete; }));
        device.release(50 * mib);
    }
    const auto result = finish_command(run.workshop, run.child);
    INFO(result.error);
    CHECK(result.status == 0);
    const auto trials = run.trials();
    REQUIRE(trials.size() == 2);
    for (const hpo::Trial& trial : trials) CHECK(trial.state == hpo::TrialState::complete);
    hpo::store::Snapshot snapshot{run.workshop.path("hpo.db").string()};
    CHECK(snapshot.rejections(snapshot.studies().at(0)).empty());  // nothing was refused for good
    const auto& seen = trials[0].attempts.at(0).memory.at(0);
    CHECK(seen.name == "admission");
    CHECK(seen.reading.free == 14 * mib);
    REQUIRE(seen.reading.neighbours.size() == 1);
    CHECK(seen.reading.neighbours[0].pid == ::getpid());
    CHECK(seen.reading.neighbours[0].bytes == 50 * mib);
    CHECK(seen.reading.neighbours[0].program == "test_tools");
    const auto shown = run_command(run.workshop, {tool("hpo-analyze"), "trial", "0"});
    CHECK_THAT(shown.out, Contains("beside     at admission: test_tools (process " + std::to_string(::getpid()) + ") 50.00 MiB"));
}

TEST_CASE("an attempt that can be shrunk to what others leave starts beside them") {
    const Run run{std::to_string(8 * mib), std::to_string(4 * mib)};  // 48 MiB as planned
    auto device = device_of(run.child);
    REQUIRE(device.charge(40 * mib));
    run.go();
    const auto result = finish_command(run.workshop, run.child);
    INFO(result.error);
    CHECK(result.status == 0);
    const auto trials = run.trials();
    REQUIRE(trials.size() == 2);
    for (const hpo::Trial& trial : trials) {
        CHECK(trial.state == hpo::TrialState::complete);
        CHECK(trial.attempts.at(0).plan.effective_batch == 4 * mib);
        CHECK(trial.attempts.at(0).plan.micro_batch == 1 * mib);
        CHECK(trial.attempts.at(0).estimate->need == 18 * mib);
    }
}

TEST_CASE("what would not fit an empty device is refused, whoever is on it") {
    const Run run{std::to_string(70 * mib), "32"};
    run.go();
    const auto result = finish_command(run.workshop, run.child);
    CHECK(result.status == 2);
    CHECK_THAT(result.error, Contains("70.01 MiB") && Contains("64.00 MiB"));
}

TEST_CASE("a retry that a rule lets wait starts once another process has left the device") {
    const Workshop workshop;
    workshop.write("wait.lua", R"(
local hpo = require "hpo"
return hpo.study { name = "wait", trainer = { "fault", fault = "oom_once_above", limit = 8, weights = 20971520 },
  objective = { metric = "value", direction = "minimize" }, sampler = "random", trials = 1, workers = 1, recovery = "fail",
  guard = "dry_run", device_memory = "64MiB",
  on_oom = function(trial, failure, plan) return hpo.retry { micro_batch = 4, wait = true, timeout = "50s" } end,
  space = function(trial) trial:float("x", 0, 1) end }
)");
    const pid_t child = start_command(
        workshop, {tool("hpo-tune"), "run", "wait.lua", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers", "--progress", "plain"});
    {
        auto device = device_of(child);
        REQUIRE(device.charge(50 * mib));  // this test is the other process
        CHECK(has_said(workshop, "with 8 accumulation steps, when enough of the device is free (the script's rule)"));
        std::this_thread::sleep_for(700ms);
        CHECK(read_file(workshop.path(".error")).find("complete") == std::string::npos);
        device.release(50 * mib);
    }
    const auto run = finish_command(workshop, child);
    INFO(run.error);
    CHECK(run.status == 0);
    CHECK_THAT(run.error, Contains("with 8 accumulation steps, when enough of the device is free") && Contains("trial 0: complete"));
}

TEST_CASE("a rule whose retry changes nothing is told once, with its line, and costs no attempts") {
    const Workshop workshop;
    workshop.write("idle.lua", R"(
local hpo = require "hpo"
return hpo.study { name = "idle", trainer = { "fault", fault = "oom_text" },
  objective = { metric = "value", direction = "minimize" }, sampler = "random", trials = 6, workers = 1, recovery = "fail", guard = "unlimited",
  on_oom = function(trial, failure, plan)
    return hpo.retry {}
  end,
  space = function(trial) trial:float("x", 0, 1) end }
)");
    const std::vector<std::string> words{"idle.lua", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers"};
    const auto call = [&](std::vector<std::string> command) {
        command.insert(command.begin(), tool("hpo-tune"));
        command.insert(command.end(), words.begin(), words.end());
        return run_command(workshop, command);
    };
    const std::string told = "idle.lua:6: on_oom: hpo.retry changes nothing, so the recovery policy decides";
    CHECK_THAT(call({"check"}).out, Contains(told));
    const auto run = call({"run", "--progress", "plain"});
    INFO(run.error);
    CHECK(run.status == 1);
    const std::size_t first = run.error.find("hpo-tune: note: trial 0: " + told);
    CHECK(first != std::string::npos);
    CHECK(run.error.find("changes nothing", first + told.size() + 30) == std::string::npos);
    hpo::store::Snapshot snapshot{workshop.path("hpo.db").string()};
    for (const hpo::Trial& trial : snapshot.trials(snapshot.studies().at(0))) CHECK(trial.attempts.size() == 1);
}

TEST_CASE("the reason that a rule gives for a pruned trial is stored as its prune_reason, and told") {
    const Workshop workshop;
    workshop.write("pruned.lua", R"(
local hpo = require "hpo"
return hpo.study { name = "pruned", trainer = "fault",
  objective = { metric = "value", direction = "minimize" }, sampler = "random", trials = 4, workers = 1, guard = "unlimited", breaker = 0,
  on_oom = function() return hpo.prune "too large for my card" end,
  on_failure = function(trial, failure) return hpo.prune("no luck with " .. failure.kind) end,
  space = function(trial) trial:categorical("fault", { "oom_text", "throw" }) end }
)");
    const auto run = [&](const std::string& fault, const std::string& trials) {
        return run_command(workshop, {tool("hpo-tune"), "run", "pruned.lua", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers", "--progress",
                                      "plain", "--fix", "fault=" + fault, "--trials", trials});
    };
    CHECK_THAT(run("oom_text", "1").error, Contains("trial 0: pruned, infeasible: ") && Contains("too large for my card ("));
    CHECK_THAT(run("throw", "2").error, Contains("trial 1: pruned: no luck with trainer_error ("));
    hpo::store::Snapshot snapshot{workshop.path("hpo.db").string()};
    const auto trials = snapshot.trials(snapshot.studies().at(0));
    REQUIRE(trials.size() == 2);
    CHECK(trials[0].user_attributes.at("prune_reason") == "\"too large for my card\"");
    CHECK(trials[1].user_attributes.at("prune_reason") == "\"no luck with trainer_error\"");
}
