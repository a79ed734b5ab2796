// SPDX-License-Identifier: MIT
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "hpo/store/snapshot.hpp"
#include "hpo/store/sqlite.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;
using Catch::Contains;
using hpo::tests::mib;

namespace {

/// A study of the fault trainer. `fault` is a Lua expression that may read `trial`.
struct FaultStudy {
    Workshop workshop;

    explicit FaultStudy(const std::string& fault, const std::string& members = "") {
        workshop.write("devices.lua", R"(
local hpo = require "hpo"
return hpo.study {
  name = "devices", trainer = "fault", sampler = "random", pruner = "none", trials = 24, seed = 3,)" +
                                          members + R"(
  objective = { metric = "value", direction = "minimize" },
  space = function(trial)
    trial:float("x", 0, 1)
    trial:categorical("fault", { "none", "hardware_below_100MiB" }, { only = { )" +
                                          fault + R"( } })
  end,
}
)");
    }

    [[nodiscard]] CommandResult run(const std::vector<std::string>& words) const {
        std::vector<std::string> all{tool("hpo-tune"), "run",  "devices.lua", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers",
                                     "--progress",     "plain"};
        all.insert(all.end(), words.begin(), words.end());
        return run_command(workshop, all);
    }
    [[nodiscard]] std::vector<hpo::Trial> trials() const {
        hpo::store::Snapshot store{workshop.path("hpo.db")};
        return store.trials(store.study("devices"));
    }
};

std::map<std::string, int> ran_on(const std::vector<hpo::Trial>& trials) {
    std::map<std::string, int> counts;
    for (const hpo::Trial& trial : trials) {
        if (trial.state == hpo::TrialState::complete) ++counts[trial.attempts.back().plan.device];
    }
    return counts;
}

}  // namespace

TEST_CASE("a run uses four devices, each with its own memory, and the post-mortem says which trial ran where") {
    const FaultStudy study{R"("none")"};
    const auto ended = study.run({"--device", "cpu:0,cpu:1,cpu:2=32MiB,cpu:3", "--device-memory", "64MiB", "--workers", "4"});
    INFO(ended.out << ended.error);
    REQUIRE(ended.status == 0);
    const auto trials = study.trials();
    CHECK(ran_on(trials).size() == 4);
    for (const hpo::Trial& trial : trials) {
        const hpo::Attempt& attempt = trial.attempts.back();
        CHECK(attempt.capacity_bytes == (attempt.plan.device == "cpu:2" ? 32 : 64) * mib);
    }
    CHECK_THAT(ended.error, Contains("; on cpu:3"));
    const std::string last = std::to_string(trials.size() - 1);
    const auto shown = run_command(study.workshop, {tool("hpo-analyze"), "trial", last, "--store", "hpo.db"});
    CHECK_THAT(shown.out, Contains(trials.back().attempts.back().plan.device));
}

TEST_CASE("trials that meet a fault of one device end well on another, and the faulty one is left out") {
    const FaultStudy study{R"("hardware_below_100MiB")"};
    const auto ended = study.run({"--device", "cpu:0=64MiB,cpu:1=128MiB", "--workers", "2"});
    INFO(ended.out << ended.error);
    REQUIRE(ended.status == 0);
    const auto trials = study.trials();
    CHECK(ran_on(trials) == std::map<std::string, int>{{"cpu:1", 24}});
    CHECK_THAT(ended.error, Contains("cpu:0 is left out for 1 min 00 s: attempts fail there by its own fault, the latest with: hardware"));
    std::size_t faults = 0;
    for (const hpo::Trial& trial : trials) faults += trial.attempts.size() - 1;
    CHECK(faults == 3);
    const auto failures = run_command(study.workshop, {tool("hpo-analyze"), "failures", "--store", "hpo.db"});
    CHECK_THAT(failures.out, Contains("other_device"));
}

TEST_CASE("a rule of a script sends a trial to another device") {
    const FaultStudy study{R"("hardware_below_100MiB")", R"(
  recovery = "fail",
  on_failure = function(trial, failure, plan)
    if failure.blame == "device" then return hpo.retry { other_device = true } end
  end,)"};
    const auto ended = study.run({"--device", "cpu:0=64MiB,cpu:1=128MiB", "--workers", "2", "--trials", "6"});
    INFO(ended.out << ended.error);
    REQUIRE(ended.status == 0);
    const auto trials = study.trials();
    CHECK(ran_on(trials) == std::map<std::string, int>{{"cpu:1", 6}});
    bool told = false;
    for (const hpo::Trial& trial : trials)
        told = told || trial.attempts.front().decision.find("on another device (the script's rule)") != std::string::npos;
    CHECK(told);
}

TEST_CASE("a rule that asks for a device that the run does not have is told by check and run, and costs no attempts") {
    const FaultStudy study{R"("hardware_below_100MiB")", R"(
  recovery = "fail",
  on_failure = function(trial, failure, plan)
    if failure.blame == "device" or failure.kind == "crash" then return hpo.retry { device = "cpu:7" } end
  end,)"};
    const std::string told =
        "devices.lua:7: on_failure: hpo.retry asks for device 'cpu:7', which this run does not have, so the recovery policy decides; the "
        "run's devices: cpu:0";
    const auto checked = run_command(study.workshop, {tool("hpo-tune"), "check", "devices.lua", "--plugin-dir",
                                                      HPO_BINARY_DIR "/tests/trainers", "--device", "cpu:0=64MiB"});
    CHECK_THAT(checked.out, Contains(told));
    const auto ended = study.run({"--device", "cpu:0=64MiB", "--workers", "1", "--trials", "3"});
    INFO(ended.out << ended.error);
    CHECK(ended.status == 1);
    const std::size_t first = ended.error.find("hpo-tune: note: trial 0: " + told);
    REQUIRE(first != std::string::npos);
    CHECK(ended.error.find("asks for device", first + told.size()) == std::string::npos);
    for (const hpo::Trial& trial : study.trials()) CHECK(trial.attempts.size() == 1);
}

TEST_CASE("a device that a run cannot have is refused in one line that says what would be right") {
    const FaultStudy study{R"("none")"};
    const std::vector<std::pair<std::vector<std::string>, std::string>> wrong{
        {{"--device", "gpu"}, "--device: got 'gpu'; expected auto, cpu, cuda, cuda:N or cuda:*, or several with commas: cuda:0,cuda:1"},
        {{"--device", ""}, "--device: "},
        {{"--device", "cpu:0,cpu:0"}, "--device: got 'cpu:0' twice; expected each device once"},
        {{"--device", "cpu:0,"}, "--device: got ''; expected auto"},
        {{"--device", "auto,cpu"}, "--device: got 'auto' beside other devices; expected it alone"},
        {{"--device", "cpu:0,cpu:1"}, "--device: got 'cpu:0' without a size; expected how much memory it has"},
        {{"--device", "cpu:0=lots"}, "--device: cpu:0: "},
        {{"--device", "cuda=20GiB"}, "--device: got 'cuda=20GiB'; expected a size after one certain device, such as cuda:0=20GiB"},
        {{"--device", "cpu:0=1KiB"}, "--device: cpu:0: got '1KiB'; expected at least 1MiB"},
        {{"--device", "cpu:0,cpu:1", "--device-memory", "64MiB", "--workers", "1"},
         "--workers: got 1 for 2 devices; expected at least one worker for each device"},
        {{"--device", "cpu:00=64MiB"}, "--device: got 'cpu:00=64MiB'"},
        {{"--device", "cpu", "--fallback-device", "cpu:0"},
         "--fallback-device: got 'cpu:0' without a size; expected how much memory it has"},
        {{"--fallback-device", "tpu"}, "--fallback-device: got 'tpu'"},
        {{"--device-wait", "soon"}, "--device-wait: "},
    };
    for (const auto& [words, message] : wrong) {
        const auto refused = study.run(words);
        CAPTURE(words, refused.error);
        CHECK(refused.status == 2);
        CHECK_THAT(refused.error, Contains(message));
        CHECK_FALSE(std::filesystem::exists(study.workshop.path("hpo.db")));
    }
}

TEST_CASE("why no device can be used is told once, however many were asked for") {
    const FaultStudy study{R"("none")"};
    const auto refused = run_command(study.workshop, {"/usr/bin/env", "CUDA_VISIBLE_DEVICES=", tool("hpo-tune"), "run", "devices.lua",
                                                      "--plugin-dir", HPO_BINARY_DIR "/tests/trainers", "--device", "cuda:0,cuda:1"});
    CAPTURE(refused.error);
    CHECK(refused.status == 4);
    const std::size_t first = refused.error.find("known: cpu");
    REQUIRE(first != std::string::npos);
    CHECK(refused.error.find("known: cpu", first + 1) == std::string::npos);
}

TEST_CASE("the post-mortem holds each trial against its own device, and names none that ran out of memory where none did") {
    const Workshop workshop;
    {
        hpo::store::Sqlite store{workshop.path("two.db").string()};
        const std::vector<hpo::Direction> directions{hpo::Direction::minimize};
        const hpo::Study study = store.open_study("two", directions, hpo::Store::Open::create);
        for (const auto& [device, capacity, peak] : {std::tuple{"cuda:0", 100, 60}, std::tuple{"cuda:1", 50, 45}}) {
            hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
            hpo::Attempt attempt;
            attempt.plan.device = device;
            attempt.capacity_bytes = capacity * mib;
            store.begin_attempt(trial, attempt);
            attempt.outcome = hpo::OutcomeKind::complete;
            attempt.peak_reserved = peak * mib;
            attempt.peak_allocated = peak * mib;
            store.end_attempt(trial, attempt);
            trial.attempts = {attempt};
            trial.state = hpo::TrialState::complete;
            trial.values = {1.0};
            store.finish(trial);
        }
    }
    const auto memory = run_command(workshop, {tool("hpo-analyze"), "memory", "--store", "two.db"});
    INFO(memory.out << memory.error);
    CHECK_THAT(memory.out, Contains("100.00 MiB of cuda:0, 50.00 MiB of cuda:1") && Contains("45.00 MiB in trial 1, 90 % of its device"));
    CHECK_THAT(memory.out, !Contains("ran out of memory the most"));
}
