// SPDX-License-Identifier: MIT
#include "hpo/analysis/logs/log_match.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "analysis/silent_failures/running_trials.hpp"
#include "hpo/analysis/failure_cases/failure_case.hpp"
#include "hpo/analysis/failure_totals.hpp"
#include "hpo/analysis/silent_failures/silent_report.hpp"
#include "support/catch.hpp"

using namespace hpo::analysis;
using hpo::FailureKind;

namespace {

ProgramLog log_of(const std::string& text, ParamNames names = {}) {
    LogReader reader{"run.log", std::move(names)};
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('\n', at), text.size());
        reader.line(std::string_view{text}.substr(at, end - at));
        at = end + 1;
    }
    return std::move(reader).finish();
}

/// Ends `second` seconds after 2026-01-31 12:00:00 UTC, with one parameter.
hpo::Trial ended(std::int64_t number, hpo::TrialState state, double second, double x) {
    hpo::Trial trial;
    trial.number = number;
    trial.state = state;
    trial.params.set("x", hpo::FloatDistribution{-5, 5, false, {}}, x);
    const std::int64_t noon = 1769860800LL * 1'000'000;
    trial.completed = hpo::Time{std::chrono::microseconds{noon + static_cast<std::int64_t>(second * 1e6)}};
    trial.started = *trial.completed - std::chrono::microseconds{10'000'000};
    if (state == hpo::TrialState::complete) trial.values = {x};
    return trial;
}

LogMatch match_of(const std::string& text, const std::vector<hpo::Trial>& trials) {
    LogMatch match;
    match_log(log_of(text, ParamNames{trials}), trials, match);
    return match;
}

constexpr auto logged_fail = hpo::TrialState::fail;
constexpr auto logged_complete = hpo::TrialState::complete;

const std::string traceback =
    "Traceback (most recent call last):\n  File \"t.py\", line 3, in f\n    g()\ntorch.OutOfMemoryError: CUDA out of memory. Tried to "
    "allocate 2.00 GiB\n";

}  // namespace

TEST_CASE("Optuna's lines are read in the words of every release, coloured and behind a progress bar") {
    const auto log = log_of(
        "[I 2026-01-31 20:00:10,123] Trial 0 finished with value: 0.5 and parameters: {'x': 0.5}. Best is trial 0 with value: 0.5.\n"
        "\x1b[33m[W 2026-01-31 20:00:20,500]\x1b[0m Trial 1 failed with parameters: {'x': 1.5} because of the following error: "
        "RuntimeError('a, because of the following error: b').\x1b[0m\n" +
        traceback +
        "[W 2026-01-31 20:00:20,501] Trial 1 failed with value None.\n"
        " 20%|##   | 2/10 [00:01<00:04]\r 30%|###  | 3/10[I 2026-01-31 20:00:30,000] Trial 2 pruned. \n"
        "[W 2021-01-31 20:00:00,000] Trial 3 failed because of the following error: KeyError('a')\n"
        "[W 2021-01-31 20:00:00,000] Trial 4 failed, because the objective function returned nan.\n"
        "[W 2019-01-31 20:00:00,000] Setting status of trial#5 as TrialState.FAIL because of the following error: KeyError('b')\n"
        "2026-01-31 20:01:00,000 - optuna.study.study - INFO - Trial 6 finished with values: [1.0, 2.0] and parameters: {'x': 2}.\n"
        "WARNING:optuna.study.study:Trial 7 failed with parameters: {} because of the following error: The value nan is not acceptable.\n"
        "Trial 8 failed miserably\nTrials 9 pruned.\n");
    REQUIRE(log.events.size() == 8);
    CHECK(log.events[0].params == "{'x': 0.5}");
    CHECK(log.events[0].microseconds == 1769889610123000);
    CHECK(log.events[1].line == 2);
    CHECK(log.events[1].params == "{'x': 1.5}");
    CHECK(log.events[1].error == "RuntimeError('a, because of the following error: b')");
    CHECK(log.events[1].traceback == traceback);
    CHECK(log.events[2].state == hpo::TrialState::pruned);
    CHECK(log.events[3].error == "KeyError('a')");
    CHECK(hpo::classify_python(log.events[4].error).kind == FailureKind::non_finite);
    CHECK(log.events[5].trial == 5);
    CHECK(log.events[6].params == "{'x': 2}");
    CHECK_FALSE(log.events[7].microseconds);
    CHECK(log.remarks.empty());
}

TEST_CASE("failures are matched by number, parameters and time, whatever the log's time zone") {
    const std::vector<hpo::Trial> trials{ended(0, logged_complete, 10, 0.5), ended(1, logged_fail, 20, 1.5),
                                         ended(2, logged_fail, 30, 2.5)};
    const std::string text =
        "[I 2026-01-31 17:30:10,123] Trial 0 finished with value: 0.5 and parameters: {'x': 0.5}. Best is trial 0 with value: 0.5.\n"
        "[W 2026-01-31 17:30:20,050] Trial 1 failed with parameters: {'x': 1.5} because of the following error: RuntimeError('left').\n" +
        traceback +
        "[W 2026-01-31 17:30:30,050] Trial 2 failed with parameters: {'x': 2.5} because of the following error: The value nan is not "
        "acceptable.\n";
    const auto match = match_of(text, trials);
    CHECK(match.matched_events() == 3);
    CHECK(match.clock_ahead == (5 * 60 + 30) * std::int64_t{60'000'000});
    CHECK(match.unmatched.empty());
    REQUIRE(match.told.size() == 2);
    CHECK(match.told.at(1).failure.kind == FailureKind::out_of_memory);  // by the traceback behind it
    CHECK(match.told.at(1).place == "run.log, line 2");
    CHECK(match.told.at(2).failure.kind == FailureKind::non_finite);
    const auto cases = failure_cases(trials, match.told);
    REQUIRE(cases.size() == 2);
    CHECK_FALSE(cases[0].silent());
    CHECK(cases[0].told_in == "run.log, line 2");
    CHECK(cases[0].failure.requested_bytes == std::int64_t{2} << 30);
}

const std::string figures =
    "CUDA out of memory. Tried to allocate 200.00 MiB. GPU 0 has a total capacity of 15.48 GiB of which 19.88 MiB is free. Including "
    "non-PyTorch memory, this process has 15.40 GiB memory in use. Of the allocated memory 14.90 GiB is allocated by PyTorch, and 80.00 "
    "MiB is reserved by PyTorch but unallocated.";

TEST_CASE("the text with which a program pruned a trial belongs to that trial, also if it has several lines") {
    const std::vector<hpo::Trial> trials{ended(0, logged_complete, 10, 0.5), ended(1, hpo::TrialState::pruned, 20, 1.5),
                                         ended(2, logged_complete, 30, 2.5), ended(3, hpo::TrialState::pruned, 40, 3.5)};
    const auto complete = [](int number, const std::string& time, const std::string& x) {
        return "[I 2026-01-31 12:00:" + time + ",010] Trial " + std::to_string(number) + " finished with value: " + x +
               " and parameters: {'x': " + x + "}. Best is trial 0 with value: 0.5.\n";
    };
    const auto pruned = [](int number, const std::string& time, const std::string& text) {
        return "[I 2026-01-31 12:00:" + time + ",010] Trial " + std::to_string(number) + " pruned. " + text + "\n";
    };
    for (const std::string& text :
         {"training failed: " + figures, "the operator failed.\nTraceback of TorchScript:\nRuntimeError: " + figures + "\n",
          "stopped by an error:\n" + traceback, "CUDA crashed\n\n  at step 3:\n" + figures}) {
        CAPTURE(text);
        const auto match = match_of(
            complete(0, "10", "0.5") + pruned(1, "20", text) + complete(2, "30", "2.5") + pruned(3, "40", "not promising"), trials);
        CHECK(match.unmatched.empty());
        REQUIRE(match.told.size() == 1);
        REQUIRE(match.told.contains(1));
        CHECK(match.told.at(1).failure.kind == FailureKind::out_of_memory);
        CHECK(match.told.at(1).place == "run.log, line 2");
    }
    // What stands below a text that is whole was printed by a later trial.
    const auto later =
        match_of(complete(0, "10", "0.5") + pruned(1, "20", "not promising") + figures + "\n" + complete(2, "30", "2.5"), trials);
    REQUIRE(later.told.size() == 1);
    CHECK(later.told.contains(2));
    CHECK(match_of(complete(0, "10", "0.5") + pruned(1, "20", "validation failed to improve") + complete(2, "30", "2.5"), trials)
              .told.empty());
    // Words without figures, and what stands below them.
    const auto asked = hpo::classify_python(figures).requested_bytes;
    for (const std::string& text : {std::string{"gave up:\nout of memory\n"} + figures, std::string{"out of memory\n"} + figures}) {
        const auto match = match_of(complete(0, "10", "0.5") + pruned(1, "20", text) + complete(2, "30", "2.5"), trials);
        REQUIRE(match.told.size() == 1);
        CHECK(match.told.at(1).failure.requested_bytes == asked);
    }
    for (const char* const text : {"OOM at batch 35", "reason: OOM\nbatch: 8\nlr: 0.2"}) {
        const auto match = match_of(complete(0, "10", "0.5") + pruned(1, "20", text) + complete(2, "30", "2.5"), trials);
        REQUIRE(match.told.size() == 1);
        CHECK(match.told.at(1).failure.kind == FailureKind::out_of_memory);
    }
    CHECK(match_of(complete(0, "10", "0.5") + pruned(1, "20", "loss is nan (this is not an out of memory)") + complete(2, "30", "2.5"),
                   trials)
              .told.empty());
    // A message below a text that is empty is the pruned trial's if the next trial tells its own.
    const auto both =
        match_of(complete(0, "10", "0.5") + pruned(1, "20", "\n" + figures) + pruned(3, "40", "CUDA error: out of memory"), trials);
    REQUIRE(both.told.contains(1));
    CHECK(both.told.at(1).failure.requested_bytes == asked);
    CHECK_FALSE(both.told.at(3).failure.requested_bytes);
}

TEST_CASE("the text with which a trial was pruned is its own if it begins on a new line") {
    const std::string message = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB\n";
    const std::vector<hpo::Trial> trials{ended(0, logged_complete, 0, 0.5), ended(1, hpo::TrialState::pruned, 10, 0.5),
                                         ended(2, logged_complete, 20, 0.5)};
    const std::string end_of_2 = "[I 2026-01-31 12:00:20,000] Trial 2 finished with value: 0.5 and parameters: {'x': 0.5}.\n";
    for (const std::string& text : {"\n" + message, "\nfold 2: " + message, traceback, "\nError in fold 2:\n" + message, message}) {
        INFO(text);
        const LogMatch match = match_of("[I 2026-01-31 12:00:10,000] Trial 1 pruned. \n" + text + end_of_2, trials);
        CHECK(match.told.contains(1));
        CHECK_FALSE(match.told.contains(2));
    }
    // What stands further below may be of the next trial.
    const LogMatch later =
        match_of("[I 2026-01-31 12:00:10,000] Trial 1 pruned. \nepoch 1\nepoch 2\nepoch 3\n" + message + end_of_2, trials);
    CHECK_FALSE(later.told.contains(1));
}

TEST_CASE("the text of a pruned trial keeps a worker's traceback, XGBoost's lines, NCCL's last error and its figures") {
    const std::string message =
        "CUDA out of memory. Tried to allocate 512.00 MiB. GPU 1 has a total capacity of 10.76 GiB of which 9.25 MiB is free. Of the "
        "allocated memory 10.20 GiB is allocated by PyTorch, and 90.00 MiB is reserved by PyTorch but unallocated.\n";
    const std::string frames = "Original Traceback (most recent call last):\n  File \"m.py\", line 3, in forward\n    return self.net(x)\n";
    const std::vector<hpo::Trial> trials{ended(0, logged_complete, 0, 0.5), ended(1, hpo::TrialState::pruned, 10, 0.5),
                                         ended(2, logged_complete, 20, 0.5)};
    struct Case {
        std::string text;
        FailureKind kind;
        std::optional<std::int64_t> requested;
    };
    for (const Case& each : std::vector<Case>{
             {"Caught OutOfMemoryError in replica 1 on device 1.\n" + frames + "torch.OutOfMemoryError: " + message + "\n",
              FailureKind::out_of_memory, std::int64_t{512} << 20U},
             {"training failed:\nCaught RuntimeError in pin memory thread for device 0.\n" + frames +
                  "RuntimeError: CUDA error: out of memory\n\n",
              FailureKind::host_out_of_memory, std::nullopt},
             {"training failed:\n[13:55:26] /workspace/src/common/device_vector.cu:23: Memory allocation error on worker 0: "
              "std::bad_alloc: "
              "cudaErrorMemoryAllocation: out of memory\n- Free memory: 1.25GB\n- Requested memory: 3.5GB\n\n",
              FailureKind::out_of_memory, std::int64_t{7} << 29U},
             {"NCCL error in: ProcessGroupNCCL.cpp:1275, unhandled cuda error, NCCL version 2.20.5\nncclUnhandledCudaError: Call to CUDA "
              "function failed.\nLast error:\nCuda failure 2 'out of memory'\n",
              FailureKind::out_of_memory, std::nullopt},
             {"no fit\n  in layer 3\ntorch.OutOfMemoryError: " + message, FailureKind::out_of_memory, std::int64_t{512} << 20U}}) {
        INFO(each.text);
        const LogMatch match = match_of(
            "[I 2026-01-31 12:00:00,000] Trial 0 finished with value: 0.5 and parameters: {'x': 0.5}.\n"
            "[I 2026-01-31 12:00:10,000] Trial 1 pruned. " +
                each.text + "[I 2026-01-31 12:00:20,000] Trial 2 finished with value: 0.5 and parameters: {'x': 0.5}.\n",
            trials);
        REQUIRE(match.told.contains(1));
        CHECK(match.told.size() == 1);
        CHECK(match.told.at(1).failure.kind == each.kind);
        CHECK(match.told.at(1).failure.requested_bytes == each.requested);
    }
    // What a pruner's text is followed by is of the next trial.
    const LogMatch judged = match_of("[I 2026-01-31 12:00:10,000] Trial 1 pruned. Trial was pruned at epoch 3.\n" + message +
                                         "[I 2026-01-31 12:00:20,000] Trial 2 finished with value: 0.5 and parameters: {'x': 0.5}.\n",
                                     trials);
    CHECK_FALSE(judged.told.contains(1));
}

TEST_CASE("a number that a line names is of the study whose trial ended next") {
    const std::string message = "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 23.69 GiB total capacity)\n";
    const auto line = [](const std::string& clock, int number, const std::string& x) {
        return "[I 2026-01-31 " + clock + ",000] Trial " + std::to_string(number) + " finished with value: " + x +
               " and parameters: {'x': " + x + "}.\n";
    };
    const std::string log = line("12:00:00", 0, "0.5") + "trial 1: torch.OutOfMemoryError: " + message +
                            "[I 2026-01-31 12:00:10,000] Trial 1 pruned. \n" + line("12:10:00", 0, "1.5") + line("12:10:10", 1, "2.5");
    const std::vector<hpo::Trial> first{ended(0, logged_complete, 0, 0.5), ended(1, hpo::TrialState::pruned, 10, 0.5)};
    const std::vector<hpo::Trial> second{ended(0, logged_complete, 600, 1.5), ended(1, logged_complete, 610, 2.5)};
    CHECK(match_of(log, first).told.contains(1));
    CHECK(match_of(log, second).told.empty());
}

TEST_CASE("an out-of-memory after which the program went on does not hide the error that ended the trial") {
    const auto log = [](const std::string& later) {
        return "2026-01-31 12:00:01 hyperparameters: {'x': 0.5}\n"
               "2026-01-31 12:00:02 WARNING CUDA out of memory. Tried to allocate 2.00 GiB; half the batch\n" +
               later +
               " Error: mat1 and mat2 shapes cannot be multiplied (3x4 and 78x99)\n2026-01-31 12:10:01 hyperparameters: {'x': 1.5}\n";
    };
    std::vector<hpo::Trial> trials{ended(0, logged_fail, 300, 0.5), ended(1, logged_complete, 900, 1.5)};
    trials[0].started = *trials[0].completed - std::chrono::seconds{300};
    trials[1].started = *trials[1].completed - std::chrono::seconds{300};
    const auto told = match_of(log("2026-01-31 12:04:50"), trials).told;
    REQUIRE(told.contains(0));
    CHECK(told.at(0).failure.kind == FailureKind::trainer_error);
    const auto at_once = match_of(log("2026-01-31 12:00:03"), trials).told;
    REQUIRE(at_once.contains(0));
    CHECK(at_once.at(0).failure.kind == FailureKind::out_of_memory);
}

TEST_CASE("a pruned trial's line without a time or parameters is its trial's if its place among the others leaves no doubt") {
    const std::vector<hpo::Trial> trials{ended(0, logged_complete, 10, 0.5), ended(1, hpo::TrialState::pruned, 20, 1.5),
                                         ended(2, logged_complete, 30, 2.5)};
    const auto complete = [](int number, const std::string& x) {
        return "INFO:optuna.study:Trial " + std::to_string(number) + " finished with value: " + x + " and parameters: {'x': " + x +
               "}. Best is trial 0 with value: 0.5.\n";
    };
    const std::string pruned = "INFO:optuna.study:Trial 1 pruned. " + figures + "\n";
    const auto match = match_of(complete(0, "0.5") + pruned + complete(2, "2.5"), trials);
    CHECK(match.unmatched.empty());
    REQUIRE(match.told.contains(1));
    CHECK(match.told.at(1).failure.kind == FailureKind::out_of_memory);
    CHECK(match_of(pruned + complete(2, "2.5"), trials).told.empty());                                // one line alone is not enough
    CHECK(match_of(complete(0, "0.5") + complete(2, "2.5") + pruned, trials).told.empty());           // out of its order
    CHECK(match_of(complete(0, "0.5") + pruned + pruned + complete(2, "2.5"), trials).told.empty());  // of two runs
}

TEST_CASE("a log each line of which has the time of another program is read like the log itself") {
    std::vector<hpo::Trial> trials{ended(0, logged_complete, 10, 0.5), ended(1, logged_fail, 20.3, 1.5),
                                   ended(2, logged_complete, 20.9, 2.5)};
    trials[1].started = *trials[0].completed + std::chrono::microseconds{1000};
    trials[2].started = *trials[1].completed + std::chrono::microseconds{1000};
    const std::vector<std::string> lines{
        "[I 2026-01-31 12:00:10,010] Trial 0 finished with value: 0.5 and parameters: {'x': 0.5}. Best is trial 0 with value: 0.5.",
        "[W 2026-01-31 12:00:20,310] Trial 1 failed with parameters: {'x': 1.5} because of the following error: RuntimeError('" + figures +
            "').",
        "Traceback (most recent call last):",
        "  File \"t.py\", line 3, in f",
        "    if trial.number in (1, 5): raise RuntimeError(f\"CUDA out of memory. Tried to allocate {batch}.00 MiB. GPU 0 has a total "
        "capacity of 10.76 GiB",
        "RuntimeError: " + figures,
        "[W 2026-01-31 12:00:20,311] Trial 1 failed with value None.",
        "[I 2026-01-31 12:00:20,910] Trial 2 finished with value: 2.5 and parameters: {'x': 2.5}. Best is trial 0 with value: 0.5."};
    for (const std::string stamp :
         {"", "2026-01-31T12:00:SS+0000 gpu7 python[991]: ", "[2026-01-31 12:00:SS] ",
          "Jan 31 12:00:SS gpu7 python[991]: ", "2026-01-31T12:00:SS.789Z stderr F ", "2026-01-31 11:00:SS,123 "}) {
        CAPTURE(stamp);
        std::string text;
        for (std::size_t i = 0; i < lines.size(); ++i) {
            std::string stamped = stamp;
            if (const auto at = stamped.find("SS"); at != std::string::npos) stamped.replace(at, 2, i == 0 ? "10" : "20");
            text += stamped + lines[i] + "\n";
        }
        const auto match = match_of(text, trials);
        CHECK(match.matched_events() == 3);
        CHECK(match.unmatched.empty());
        REQUIRE(match.told.size() == 1);
        CHECK(match.told.contains(1));
    }
}

TEST_CASE("a time in whole seconds is any moment of that second") {
    std::vector<hpo::Trial> trials{ended(0, logged_complete, 10.5, 0.5), ended(1, logged_complete, 20, 1.5)};
    trials[1].started = *trials[0].completed + std::chrono::microseconds{1000};
    const std::string around[] = {
        "[I 2026-01-31 12:00:10,510] Trial 0 finished with value: 0.5 and parameters: {'x': 0.5}. Best is trial 0 with value: 0.5.\n",
        "[I 2026-01-31 12:00:20,010] Trial 1 finished with value: 1.5 and parameters: {'x': 1.5}. Best is trial 0 with value: 0.5.\n"};
    const std::string line = "2026-01-31 12:00:10 - trainer - ERROR - caught torch.cuda.OutOfMemoryError\n";
    const auto before = match_of(line + around[0] + around[1], trials);
    REQUIRE(before.told.size() == 1);
    CHECK(before.told.contains(0));
    const auto after = match_of(around[0] + line + around[1], trials);
    REQUIRE(after.told.size() == 1);
    CHECK(after.told.contains(1));
}

/// A log without a line of Optuna's: the program says the parameters of each trial, in a form of its own.
std::string own_log(const std::vector<hpo::Trial>& trials, const std::string& form, const std::map<std::int64_t, std::string>& errors) {
    std::string text;
    const auto clock = [](std::int64_t microseconds) {
        const std::int64_t second = microseconds / 1'000'000 - 1769860800LL;
        const auto two = [](std::int64_t number) { return std::to_string(100 + number).substr(1); };
        return "2026-01-31 14:" + two(second / 60) + ":" + two(second % 60);
    };
    for (const hpo::Trial& trial : trials) {
        std::string shown = form;
        const auto replace = [&shown](const std::string& what, const std::string& with) {
            if (const auto at = shown.find(what); at != std::string::npos) shown.replace(at, what.size(), with);
        };
        const auto exact = hpo::display_text(hpo::Value{*trial.params.number("lr")});
        char rounded[32];
        std::snprintf(rounded, sizeof rounded, "%.3e", *trial.params.number("lr"));
        replace("TIME", clock(microseconds_since_epoch(*trial.started) + 500'000));
        replace("LR", exact);
        replace("ROUNDED", rounded);
        replace("BATCH", std::to_string(static_cast<int>(*trial.params.number("batch"))));
        text += shown + "\n";
        if (const auto error = errors.find(trial.number); error != errors.end())
            text += "[" + clock(microseconds_since_epoch(*trial.completed) - 1'500'000) + "] Error: " + error->second + "\n";
        else text += "[" + clock(microseconds_since_epoch(*trial.completed) - 1'500'000) + "] Epoch 0 - Validation Error: 0.71 at step 3\n";
    }
    return text;
}

TEST_CASE("an error in a program's own log belongs to the trial whose parameters and time it shows") {
    std::vector<hpo::Trial> trials;
    for (int i = 0; i < 6; ++i) {
        hpo::Trial trial = ended(i, i % 2 == 0 ? logged_complete : logged_fail, 10.0 + 10 * i, 0);
        trial.params = {};
        trial.params.set("lr", hpo::FloatDistribution{1e-6, 1, true, {}}, 0.00123456 * (i + 1));
        trial.params.set("batch", hpo::IntDistribution{1, 64, false, 1}, i < 3 ? 32 : 16);
        trial.values.assign(i % 2 == 0 ? 1 : 0, 0.5);
        trial.started = *trial.completed - std::chrono::microseconds{9'000'000};
        trials.push_back(trial);
    }
    const std::map<std::int64_t, std::string> errors{{1, figures}, {3, "mat1 and mat2 shapes cannot be multiplied (16x8 and 78x99)"}};
    for (const std::string form :
         {"[TIME] Starting run with hyperparameters: {'lr': LR, 'batch': BATCH}", "TIME,123 - train - INFO - batch=BATCH, lr=ROUNDED",
          "{\"time\": \"TIME\", \"lr\": LR, \"batch\": BATCH}", "TIME trial: lr: ROUNDED batch: BATCH"}) {
        CAPTURE(form);
        const auto match = match_of(own_log(trials, form, errors), trials);
        CHECK(match.matched_shown == 6);
        CHECK(match.clock_ahead == 2 * std::int64_t{3'600'000'000});
        REQUIRE(match.told.size() == 2);
        CHECK(match.told.at(1).failure.kind == FailureKind::out_of_memory);
        CHECK_THAT(match.told.at(3).failure.message, Catch::Contains("shapes cannot be multiplied"));
    }
    // Of another study: no trial has these parameters, so nothing tells whose the errors are.
    std::vector<hpo::Trial> others = trials;
    for (hpo::Trial& trial : others)
        trial.params.set("lr", hpo::FloatDistribution{1e-6, 1, true, {}}, 0.5 + 0.01 * static_cast<double>(trial.number));
    const auto other = match_of(own_log(others, "[TIME] hyperparameters: {'lr': LR, 'batch': BATCH}", errors), trials);
    CHECK(other.told.empty());
    CHECK(other.matched_shown == 0);
    // A complete trial went on after an error in the program's own words.
    CHECK(match_of(own_log(trials, "[TIME] {'lr': LR, 'batch': BATCH}", {{2, "cannot read the cache, so it is made anew"}}), trials)
              .told.empty());
    // Two trials at a time: which one printed the error is not known.
    std::vector<hpo::Trial> parallel = trials;
    for (hpo::Trial& trial : parallel) trial.started = *trial.completed - std::chrono::microseconds{19'000'000};
    CHECK(match_of(own_log(parallel, "[TIME] {'lr': LR, 'batch': BATCH}", errors), parallel).told.empty());
}

TEST_CASE("an error behind a trial's end is not that trial's, and a clock is not moved to make it so") {
    std::vector<hpo::Trial> trials;
    for (int i = 0; i < 3; ++i) {
        hpo::Trial trial = ended(i, i == 0 ? logged_complete : logged_fail, 1200.0 * (i + 1), 0);
        trial.params = {};
        trial.params.set("lr", hpo::FloatDistribution{1e-6, 1, true, {}}, 0.001 * (i + 1));
        trial.values.assign(i == 0 ? 1 : 0, 0.5);
        trial.started = *trial.completed - std::chrono::microseconds{1'199'000'000};
        trials.push_back(trial);
    }
    // Each trial takes twenty minutes, and the first tells its parameters at its end. The second runs out of memory a minute after its
    // start.
    const std::string text = "[2026-01-31 12:19:58] trained with {'lr': 0.001}\n[2026-01-31 12:21:00] Error: " + figures +
                             "\n[2026-01-31 12:39:58] trained with {'lr': 0.002}\n[2026-01-31 12:59:58] trained with {'lr': 0.003}\n";
    const auto match = match_of(text, trials);
    CHECK(match.clock_ahead == 0);
    REQUIRE(match.told.size() == 1);
    CHECK(match.told.contains(1));
    // Beside another worker's trial it is not known whose it is.
    hpo::Trial beside = trials[1];
    beside.number = 3;
    beside.params.set("lr", hpo::FloatDistribution{1e-6, 1, true, {}}, 0.5);
    trials.push_back(beside);
    CHECK(match_of(text, trials).told.empty());
}

TEST_CASE("a text is shown whole, and not by its beginning") {
    hpo::ParamSet params;
    params.set("opt", hpo::CategoricalDistribution{{hpo::Value{std::string{"sgd"}}, hpo::Value{std::string{"sgd-nesterov"}}}}, 0);
    using hpo::analysis::detail::shows_each;
    for (const char* line : {"{'opt': 'sgd'}", "opt=sgd, lr=1", "opt: sgd", "{\"opt\": \"sgd\"}", "opt=sgd"})
        CHECK(shows_each(line, params));
    for (const char* line : {"{'opt': 'sgd-nesterov'}", "opt=sgd-nesterov", "opt=sgd/x", "{'opt': 'sgd"})
        CHECK_FALSE(shows_each(line, params));
}

TEST_CASE("an error that a program logs in its own words is no metric, no setting and no hope") {
    using hpo::analysis::detail::logged_error;
    for (const char* line :
         {"Error: shapes do not fit", "[2026-01-31 12:00:00] Error: shapes do not fit",
          "2026-01-31 12:00:00,123 - train - ERROR - shapes do not fit", "ERROR shapes do not fit", "[ERROR] shapes do not fit",
          "2026-01-31T12:00:00Z Error: shapes do not fit", "2026-01-31 12:00:00,123 INFO Error: shapes do not fit",
          "E0131 error: shapes do not fit", "ERROR:root:shapes do not fit", "2026-01-31 12:00:00 | ERROR | shapes do not fit"}) {
        CAPTURE(line);
        CHECK_THAT(std::string{logged_error(line)}, Catch::EndsWith("shapes do not fit"));
    }
    CHECK(logged_error("12:00:00 ValueError: shapes do not fit") == "ValueError: shapes do not fit");
    CHECK(logged_error("Training failed with ValueError: shapes do not fit") == "ValueError: shapes do not fit");
    CHECK(logged_error("12:00:00 Exception: shapes do not fit") == "Exception: shapes do not fit");
    for (const char* line : {"Validation Error: 0.71 at step 3", "[2026-01-31 12:00:00] Validation Error: 0.71 at step 3",
                             "mean squared error: 0.3", "Error: 0.3", "error_rate: 0.2 of all", "Error handling is on",
                             "errors: none at all", "MeanSquaredError: 0.3 at step", "error: nan", "no error was found here"}) {
        CAPTURE(line);
        CHECK(logged_error(line).empty());
    }
}

TEST_CASE("a trial is found by the parameters that a line shows, in time that does not grow with the study") {
    std::vector<hpo::Trial> trials(2000);
    std::mt19937_64 random{4};
    for (hpo::Trial& trial : trials) {
        trial.params.set("lr", hpo::FloatDistribution{0, 1, false, {}}, std::ldexp(static_cast<double>(random() >> 11U), -53));
        if (random() % 2 == 0)
            trial.params.set("kind", hpo::CategoricalDistribution{{hpo::Value{std::string{"a b"}}, hpo::Value{true}}},
                             static_cast<double>(random() % 2));
    }
    const ShownTrials shown{trials};
    for (const hpo::Trial& trial : trials) {
        const auto found = shown.in("params = " + hpo::json_text(trial.params));
        REQUIRE(std::ranges::find(found, &trial) != found.end());
        REQUIRE(found.size() < 3);
    }
    CHECK(shown.in("xlr: 0.5, lr.x: 0.5, lr 0.5").empty());
    CHECK(shown.in("lr: ").empty());
}

TEST_CASE("lines of another study or run are said and not used") {
    const std::vector<hpo::Trial> trials{ended(0, logged_fail, 10, 0.5), ended(1, logged_fail, 20, 1.5),
                                         ended(2, logged_complete, 30, 2.5)};
    const std::string other_params =
        "[W 2026-01-31 12:00:10,050] Trial 0 failed with parameters: {'x': 0.75} because of the following error: KeyError('a').\n";
    const std::string other_time =
        "[W 2026-01-31 12:07:20,050] Trial 1 failed with parameters: {'x': 1.5} because of the following error: KeyError('b').\n";
    const std::string other_state =
        "[W 2026-01-31 12:00:30,050] Trial 2 failed with parameters: {'x': 2.5} because of the following "
        "error: KeyError('c').\n";
    const std::string other_number = "[I 2026-01-31 12:00:40,050] Trial 9 pruned. \n";
    const auto none = match_of(other_params + other_time + other_state + other_number, trials);
    CHECK(none.matched_events() == 0);
    CHECK(none.told.empty());
    REQUIRE(none.unmatched.size() == 1);
    CHECK_THAT(none.unmatched[0], Catch::StartsWith("run.log, lines 1 to 4: the 4 that tell"));

    const std::string right =
        "[W 2026-01-31 12:00:20,050] Trial 1 failed with parameters: {'x': 1.5} because of the following error: KeyError('d').\n";
    const std::string near =
        "[W 2026-01-31 12:00:25,050] Trial 1 failed with parameters: {'x': 1.5} because of the following error: KeyError('e').\n";
    for (const auto& text : {right + near, near + right}) {
        const auto match = match_of(text, trials);
        CHECK(match.told.at(1).failure.message == "KeyError: d");  // the line nearest to the trial's end
        CHECK(match.unmatched.size() == 1);
    }
    const std::string timeless =
        "WARNING:optuna:Trial 1 failed with parameters: {'x': 1.5} because of the following error: KeyError('f').\n";
    CHECK(match_of(timeless, trials).told.at(1).failure.message == "KeyError: f");
    CHECK(match_of(timeless + "WARNING:optuna:Trial 1 failed with parameters: {'x': 1.5} because of the following error: KeyError('g').\n",
                   trials)
              .told.empty());
    const std::string bare = "[W 2026-01-31 12:00:20,050] Trial 1 failed because of the following error: KeyError('i').\n";
    CHECK(match_of(bare, trials).told.empty());  // one moment alone may fit by chance
    CHECK(match_of(bare + "[W 2026-01-31 12:00:10,050] Trial 0 failed because of the following error: KeyError('j').\n", trials)
              .told.size() == 2);
    CHECK(match_of("WARNING:optuna:Trial 1 failed with parameters: {} because of the following error: KeyError('h').\n", trials)
              .told.empty());
}

TEST_CASE("a log without parameters of another study that ran at the same time is not used") {
    constexpr auto end_line =
        "[I 2026-01-31 12:00:0%d,100] Trial %d failed because of the following error: RuntimeError('CUDA out of memory')\n";
    const auto line = [&](int number, int second) {
        char text[200];
        std::snprintf(text, sizeof text, end_line, second, number);
        return std::string{text};
    };
    std::vector<hpo::Trial> trials;
    for (int i = 0; i < 8; ++i) trials.push_back(ended(i, i % 2 == 0 ? logged_fail : logged_complete, i, 0.5));
    std::string own;
    std::string foreign;  // each of its trials failed
    for (int i = 0; i < 8; ++i) {
        foreign += line(i, i);
        if (i % 2 == 0) own += line(i, i);
    }
    const LogMatch matched = match_of(own, trials);
    CHECK(matched.matched_events() == 4);
    CHECK(matched.told.size() == 4);
    const LogMatch other = match_of(foreign, trials);
    CHECK(other.matched_events() == 0);
    CHECK(other.told.empty());
    // Lines from before and after the study say nothing about it.
    std::string appended;
    for (int i = 0; i < 8; ++i)
        appended += "[I 2026-01-31 11:00:00,000] Trial " + std::to_string(i) + " failed because of the following error: E()\n";
    CHECK(match_of(appended + own, trials).matched_events() == 4);
}

TEST_CASE("what was printed without a number belongs to the one trial that ran then, or to none") {
    std::vector<hpo::Trial> trials{ended(0, logged_complete, 10, 0.5), ended(1, hpo::TrialState::pruned, 20, 1.5),
                                   ended(2, logged_complete, 30, 2.5)};
    for (std::size_t i = 1; i < 3; ++i) trials[i].started = *trials[i].completed - std::chrono::microseconds{9'000'000};
    const std::string first =
        "[I 2026-01-31 12:00:10,010] Trial 0 finished with value: 0.5 and parameters: {'x': 0.5}. Best is trial 0 with value: 0.5.\n";
    const std::string second = "[I 2026-01-31 12:00:20,010] Trial 1 pruned. \n";
    const auto match = match_of(first + traceback + second, trials);
    REQUIRE(match.told.contains(1));
    CHECK(match.told.at(1).place == "run.log, line 2");
    CHECK(failure_cases(trials, match.told).size() == 1);
    CHECK(match_of(first + "ValueError: not about memory\n" + second, trials).told.empty());

    trials[2].started = trials[1].started;  // two ran at the time
    const auto unclear = match_of(first + traceback + second, trials);
    CHECK(unclear.told.empty());
    REQUIRE(unclear.unmatched.size() == 1);
    CHECK_THAT(unclear.unmatched[0], Catch::Contains("cannot be given to one trial"));
    CHECK(match_of(first + second + traceback, trials).told.empty());  // anything later may have printed it

    trials.resize(2);
    trials.push_back(ended(2, hpo::TrialState::running, 30, 2.5));
    trials[2].completed = {};
    const auto killed = match_of(first + second + "run.sh: line 3:   712 Killed                  python train.py\n", trials);
    REQUIRE(killed.told.contains(2));
    CHECK(killed.told.at(2).failure.signal == 9);
    CHECK(failure_cases(trials, killed.told).size() == 1);
}

TEST_CASE("only a shell's own words tell the death of a process") {
    for (const char* line : {"Killed", "Aborted (core dumped)", "run.sh: line 3:   712 Killed                  python train.py",
                             "bash: line 1: 12345 Segmentation fault      (core dumped) python t.py"}) {
        CAPTURE(line);
        CHECK(log_of(line).remarks.size() == 1);
    }
    for (const char* line : {"warning: data.csv: line 77: Aborted record skipped", "data.csv: line 77: 12 records, Killed is no name",
                             "t.py: line x: 3 Killed", "log: line 3: 7Killed", "Killed two birds"}) {
        CAPTURE(line);
        CHECK(log_of(line).remarks.empty());
    }
    CHECK(log_of("slurmstepd: error: Detected 1 oom_kill event in StepId=1.batch.").remarks.size() == 1);
}

TEST_CASE("a line that shows other parameters belongs to another study, also if it shows more of them") {
    const std::vector<hpo::Trial> trials{ended(0, logged_fail, 10, 1)};
    const auto told = [&](const std::string& shown) {
        return match_of("[W 2026-01-31 12:00:10,050] Trial 0 failed with parameters: " + shown +
                            " because of the following error: KeyError('a').\n",
                        trials)
            .told.size();
    };
    CHECK(told("{'x': 1.0}") == 1);
    CHECK(told("{'x': 1.0, 'y': 2}") == 0);
    CHECK(told("{'x': 1.0, 'y: z': 'a, b: c'}") == 0);
    CHECK(told("{'y': 1.0}") == 0);
    hpo::ParamSet params;
    params.set("t", hpo::CategoricalDistribution{{hpo::Value{true}, hpo::Value{}}}, 0);
    CHECK(hpo::analysis::detail::shows_params("{'t': True}", params));
    CHECK_FALSE(hpo::analysis::detail::shows_params("{'t': Truest}", params));
    params.set("n", hpo::CategoricalDistribution{{hpo::Value{}, hpo::Value{true}}}, 0);
    CHECK(hpo::analysis::detail::shows_params("{'t': True, 'n': None}", params));
    CHECK_FALSE(hpo::analysis::detail::shows_params("{'t': True, 'n': Nonesuch}", params));
    params.set("s", hpo::CategoricalDistribution{{hpo::Value{std::string{"a: {b'"}}}}, 0);
    CHECK(hpo::analysis::detail::shows_params(R"-({'t': True, 'n': None, 's': "a: {b'"})-", params));
}

TEST_CASE("within a log the clock may be put back an hour, where the parameters agree") {
    const std::vector<hpo::Trial> trials{ended(0, logged_fail, 10, 0.5), ended(1, logged_fail, 20, 1.5), ended(2, logged_fail, 30, 2.5)};
    const std::string before =
        "[W 2026-01-31 14:00:10,050] Trial 0 failed with parameters: {'x': 0.5} because of the following error: KeyError('a').\n"
        "[W 2026-01-31 14:00:20,050] Trial 1 failed with parameters: {'x': 1.5} because of the following error: KeyError('b').\n";
    const auto shifted = match_of(
        before + "[W 2026-01-31 13:00:30,050] Trial 2 failed with parameters: {'x': 2.5} because of the following error: KeyError('c').\n",
        trials);
    CHECK(shifted.told.size() == 3);
    CHECK(match_of(before + "[W 2026-01-31 13:00:30,050] Trial 2 failed because of the following error: KeyError('c').\n", trials)
              .told.size() == 2);
    CHECK(match_of(before + "[W 2026-01-31 13:30:30,050] Trial 2 failed with parameters: {'x': 2.5} because of the following error: "
                            "KeyError('c').\n",
                   trials)
              .told.size() == 2);
}

TEST_CASE("a trial that is RUNNING in the store and ended in the log is not told as vanished") {
    std::vector<hpo::Trial> trials;
    for (int i = 0; i < 5; ++i) trials.push_back(ended(i, logged_complete, 100.0 + 20 * i, 0.5));
    trials.push_back(ended(5, hpo::TrialState::running, 20, 1.5));
    trials[5].completed = {};
    CHECK(silent_report(failure_cases(trials), trials).stale.size() == 1);
    const ToldFailures told{{5, {.failure = hpo::classify_python("KeyError('a')"), .place = "run.log, line 3"}}};
    CHECK(silent_report(failure_cases(trials, told), trials).stale.empty());
}

TEST_CASE("the one trial that ran at a time is found by a binary search, and is the one that looking at all finds") {
    std::mt19937_64 random{3};
    std::vector<hpo::Trial> trials;
    for (std::int64_t i = 0; i < 4096; ++i) {
        hpo::Trial trial;
        trial.number = i;
        trial.state = random() % 8 == 0 ? hpo::TrialState::running : hpo::TrialState::fail;
        trial.started = hpo::Time{std::chrono::microseconds{static_cast<std::int64_t>(random() % 40960)}};
        if (trial.state == hpo::TrialState::fail || random() % 500 != 0)
            trial.completed = *trial.started + std::chrono::microseconds{static_cast<std::int64_t>(random() % 20)};
        trials.push_back(trial);
    }
    const auto counts = [](const hpo::Trial& trial) { return trial.number % 7 != 0 && trial.completed.has_value(); };
    const RunningTrials running{trials, counts};
    std::size_t found = 0;
    constexpr std::size_t questions = 2000;
    for (std::size_t i = 0; i < questions; ++i) {
        const auto from = static_cast<std::int64_t>(random() % 41000);
        const std::int64_t to = from + static_cast<std::int64_t>(random() % 3);
        std::vector<const hpo::Trial*> all;
        for (const hpo::Trial& trial : trials) {
            if (counts(trial) && microseconds_since_epoch(*trial.started) <= to && microseconds_since_epoch(*trial.completed) > from)
                all.push_back(&trial);
        }
        CHECK(running.only_one(from, to) == (all.size() == 1 ? all.front() : nullptr));
        found += all.size() == 1 ? 1 : 0;
    }
    CHECK(found > 100);
    CHECK(running.compared() <= questions * 13);  // 2^12 trials
}

TEST_CASE("no log harms the reader") {
    const std::string seed =
        "[W 2026-01-31 12:00:20,050] Trial 1 failed with parameters: {'x': 1.5} because of the following error: RuntimeError('left').\n" +
        traceback + "\nDuring handling of the above exception, another exception occurred:\n\n" + traceback +
        "[I 2026-01-31 12:00:20,010] Trial 1 pruned. \nKilled\n\x1b[";
    const std::vector<hpo::Trial> trials{ended(0, logged_complete, 10, 0.5), ended(1, logged_fail, 20, 1.5)};
    std::mt19937_64 random{9};
    std::size_t told = 0;
    for (int round = 0; round < 3000; ++round) {
        std::string text = seed;
        for (auto edits = random() % 8; edits > 0 && !text.empty(); --edits) {
            const auto at = random() % text.size();
            if (random() % 2 == 0) text.erase(at, 1 + random() % 9);
            else text[at] = static_cast<char>(random() % 256);
        }
        told += match_of(text, trials).told.size();
    }
    CHECK(told > 300);
}

TEST_CASE("a message about memory before a trial's own line is its own, also if the program returned a value") {
    std::vector<hpo::Trial> trials;
    std::string text;
    for (int i = 0; i < 4; ++i) {
        trials.push_back(ended(i, i == 2 ? logged_fail : logged_complete, 100 + 20 * i, 0.5));
        text += i == 0 ? "" : "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 23.69 GiB total capacity)\n";
        const std::string clock = "12:0" + std::to_string((100 + 20 * i) / 60) + ":" + std::to_string(100 + (100 + 20 * i) % 60).substr(1);
        const std::string trial = "Trial " + std::to_string(i);
        if (i == 2)
            text += "[W 2026-01-31 " + clock + ",010] " + trial +
                    " failed with parameters: {'x': 0.5} because of the following error: The value nan is not acceptable.\n";
        else
            text += "[I 2026-01-31 " + clock + ",010] " + trial +
                    " finished with value: 0.5 and parameters: {'x': 0.5}. Best is trial 0 with value: 0.5.\n";
    }
    const LogMatch match = match_of(text, trials);
    CHECK(match.unmatched_memory == 0);
    REQUIRE(match.told.size() == 3);
    for (const auto& [number, told] : match.told) CHECK(told.failure.kind == FailureKind::out_of_memory);
    const auto cases = failure_cases(trials, match.told);
    REQUIRE(cases.size() == 3);
    CHECK(cases[0].caught);
    CHECK_FALSE(cases[0].recovered);
    CHECK_FALSE(cases[1].caught);  // trial 2 is FAIL
}

TEST_CASE("with several workers a line that names its trial is that trial's, and the others are counted") {
    std::vector<hpo::Trial> trials;
    for (int i = 0; i < 8; ++i) trials.push_back(ended(i, logged_complete, 100 + i, 0.5));
    const std::string event =
        "[I 2026-01-31 12:01:40,010] Trial 0 finished with value: 0.5 and parameters: {'x': 0.5}. Best is trial 0 with value: 0.5.\n"
        "[I 2026-01-31 12:01:41,010] Trial 1 finished with value: 0.5 and parameters: {'x': 0.5}. Best is trial 0 with value: 0.5.\n";
    const LogMatch match =
        match_of(event +
                     "Trial 5: CUDA out of memory\n[trial=6] RuntimeError: CUDA out of memory, returning 0\nCUDA out of memory\n"
                     "Trial 77: CUDA out of memory\n",
                 trials);
    REQUIRE(match.told.size() == 2);
    CHECK(match.told.contains(5));
    CHECK(match.told.contains(6));
    CHECK(match.unmatched_memory == 2);
    CHECK(match.unmatched.size() == 2);
}

TEST_CASE("advice about memory is no message about it") {
    for (const char* line : {"reduce the batch size to avoid CUDA out of memory errors", "CUDA out of memory handler installed",
                             "If you run out of CUDA memory (CUDA out of memory), pass --small", "done without CUDA out of memory",
                             "Trial 0: no CUDA out of memory so far", "would be CUDA out of memory at batch 512, so capped",
                             "CUDA out of memory count = 0", "checking for CUDA out of memory", "if CUDA out of memory, halve the batch",
                             "CUDA out of memory unlikely", "fixed the CUDA out of memory of run 3"}) {
        CAPTURE(line);
        CHECK(log_of(line).remarks.empty());
    }
    for (const char* line : {"OutOfMemoryError is caught in train.py", "no out of memory so far", "oom_handler installed",
                             "if CUDA out of memory, lower the batch", "oom=False", "oom: 0", "OOM handler: on",
                             "INFO - on OOM: retry with half the batch", "import torch.cuda.OutOfMemoryError", "OOM-killer score adjusted",
                             "WARNING: batch 512 may run out of memory", "room for more", "there is not enough data in memory"}) {
        CAPTURE(line);
        CHECK(log_of(line).remarks.empty());
    }
    for (const char* line :
         {"WARNING: skipping config, CUDA out of memory (batch=32)", "CUDA out of memory (batch=32)", "skipping, CUDA out of memory",
          "2026-11-20 08:00:00,000 - trainer - ERROR - caught torch.cuda.OutOfMemoryError", "torch.cuda.OutOfMemoryError",
          "2026-11-20 08:00:00,000 - my.own.fitter - ERROR - caught torch.cuda.OutOfMemoryError", "caught torch.cuda.OutOfMemoryError",
          "!! out of memory on cuda:0, bs=32, returning nan", "OOM!", "oom at bs=64", "ran out of memory, returning inf",
          "Not enough GPU memory: returning penalty", "MemoryError", "GPU OOM with batch 64"}) {
        CAPTURE(line);
        const ProgramLog log = log_of(line);
        REQUIRE(log.remarks.size() == 1);
        CHECK_FALSE(log.remarks[0].doubtful);
        CHECK(log.remarks[0].failure.kind ==
              (std::string{line} == "MemoryError" ? FailureKind::host_out_of_memory : FailureKind::out_of_memory));
    }
    for (const char* line : {"the network of the second stage saw OOM", "my fitter says: out of memory"}) {
        CAPTURE(line);
        const LogMatch match = match_of(line, {ended(0, logged_complete, 10, 0.5)});
        CHECK(match.told.empty());
        CHECK(match.unmatched_memory == 1);
    }
    for (const char* line : {"CUDA out of memory", "2026-11-01 08:00:13,797 worker0 ERROR Trial 5: CUDA out of memory",
                             "[W] RuntimeError: CUDA out of memory, returning 0.0"}) {
        CAPTURE(line);
        CHECK(log_of(line).remarks.size() == 1);
    }
}

TEST_CASE("what a program predicted and refused is prevented, and no out-of-memory") {
    for (const char* line :
         {"WARNING: skipping: out of memory predicted (11.2 GiB needed, 10.75 GiB there)", "skipping trial: batch 64 would OOM",
          "2026-11-20 08:00:00,000 | WARNING | skipping: out of memory predicted (11.2 GiB needed)", "OOM expected, pruning the trial",
          "ERROR skipping config: predicted CUDA out of memory",
          "refused: this batch will run out of GPU memory, likely to be OOM (predicted)", "skipped, would cause CUDA OOM",
          "Skipping: estimated memory of 12.0 GiB exceeds 10.75 GiB", "pruning: out of memory likely with batch=512"}) {
        CAPTURE(line);
        const ProgramLog log = log_of(line);
        REQUIRE(log.remarks.size() == 1);
        CHECK(log.remarks[0].failure.kind == FailureKind::predicted_oom);
        CHECK_FALSE(log.remarks[0].doubtful);
        LogMatch match = match_of(line, {});
        CHECK(match.unmatched_memory == 0);
    }
    for (const char* line :
         {"INFO: OOM guard: batch would OOM, using gradient checkpointing instead", "out of memory predicted, trying anyway",
          "WARNING: batch 512 will run out of memory", "OOM likely with batch=512"}) {
        CAPTURE(line);
        CHECK(log_of(line).remarks.empty());
    }
    for (const char* line : {"ERROR in predict: CUDA out of memory", "prediction: CUDA out of memory, skipping batch",
                             "CUDA out of memory, skipping trial", "skipping trial, OOM with an expected peak of 9.0 GiB"}) {
        CAPTURE(line);
        const ProgramLog log = log_of(line);
        REQUIRE(log.remarks.size() == 1);
        CHECK(log.remarks[0].failure.kind == FailureKind::out_of_memory);
    }
    const ProgramLog either = log_of("OOM (predicted 9.0 GiB), skipping trial");
    REQUIRE(either.remarks.size() == 1);
    CHECK(either.remarks[0].doubtful);
}

TEST_CASE("the text of a pruned trial that predicts an out-of-memory is told as prevented, and a real one before it counts more") {
    const auto pruned = hpo::TrialState::pruned;
    const std::vector<hpo::Trial> trials{ended(0, logged_complete, 10, 0.5), ended(1, pruned, 20, 1.5), ended(2, pruned, 30, 2.5),
                                         ended(3, pruned, 40, 3.5)};
    const auto line = [](const char* second, const std::string& text) {
        return "[I 2026-01-31 12:00:" + std::string{second} + ",010] Trial " + text + "\n";
    };
    const LogMatch match =
        match_of("skipping: out of memory predicted\n" + line("10", "0 finished with value: 0.5 and parameters: {'x': 0.5}.") +
                     line("20", "1 pruned. predicted peak 10.8 GiB exceeds 10.75 GiB") + "CUDA out of memory (batch=32)\n" +
                     line("30", "2 pruned. predicted CUDA out of memory for batch 16") + line("40", "3 pruned. not promising"),
                 trials);
    REQUIRE(match.told.size() == 2);  // trial 0 ran to its end, whatever was predicted before
    CHECK(match.told.at(1).failure.kind == FailureKind::predicted_oom);
    CHECK(match.told.at(2).failure.kind == FailureKind::out_of_memory);
    const auto cases = failure_cases(trials, match.told);
    REQUIRE(cases.size() == 2);
    CHECK_FALSE(cases[0].is_oom());
    CHECK(cases[1].is_oom());
}

TEST_CASE("a reason of a trial that predicts an out-of-memory is prevented, whatever word it begins with") {
    const auto kind_of = [](hpo::TrialState state, const std::string& name, const std::string& text) {
        hpo::Trial trial = ended(0, state, 10, 0.5);
        trial.user_attributes[name] = '"' + text + '"';
        const auto cases = failure_cases(std::vector{trial});
        return cases.empty() ? std::string{} : std::string{to_text(cases[0].failure.kind)};
    };
    const auto pruned = hpo::TrialState::pruned;
    CHECK(kind_of(pruned, "prune_reason", "OOM predicted: 12.0 GiB needed") == "predicted_oom");
    CHECK(kind_of(pruned, "prune_reason", "predicted peak 12.0 GiB exceeds 10.75 GiB") == "predicted_oom");
    CHECK(kind_of(pruned, "prune_reason", "OOM") == "out_of_memory");
    CHECK(kind_of(logged_fail, "error", "RuntimeError: CUDA out of memory predicted, refused") == "predicted_oom");
    CHECK(kind_of(logged_complete, "warning", "batch 64 would OOM, so 32 was taken") == "");
    CHECK(kind_of(pruned, "warning", "batch 64 would OOM, so 32 was taken") == "");
}

TEST_CASE("figures on the lines below an allocator's message are read, also behind the stamp of another program") {
    for (const std::string stamp : {"", "2026-01-31T12:00:00+0000 gpu7 python[991]: "}) {
        for (const std::string first :
             {"torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)",
              "Allocation on device 0 would exceed allowed memory. (out of memory)",
              "ERROR | Allocation on device 0 would exceed allowed memory. (out of memory)",
              "[I 2026-01-31 12:00:10,010] Trial 3 pruned. Allocation on device 0 would exceed allowed memory. (out of "
              "memory)"}) {
            CAPTURE(stamp, first);
            std::string text;
            for (const std::string& line :
                 {first, std::string{"Currently allocated     : 22.10 GiB"}, std::string{"Requested               : 300.00 MiB"},
                  std::string{"Device limit            : 23.99 GiB"}, std::string{"Free (according to CUDA): 19.00 MiB"},
                  std::string{"PyTorch limit (set by user-supplied memory fraction)"}, std::string{"                        : 20.00 GiB"},
                  std::string{"Requested               : nothing more"}})
                text += stamp + line + '\n';
            const ProgramLog log = log_of(text);
            REQUIRE(log.remarks.size() + log.events.size() == 1);
            const hpo::Failure failure = log.events.empty() ? log.remarks[0].failure : hpo::analysis::detail::failure_of(log.events[0]);
            CHECK(failure.kind == FailureKind::out_of_memory);
            CHECK(failure.requested_bytes == std::int64_t{300} << 20U);
            CHECK(failure.memory.allocated == std::llround(22.10 * 0x1.0p30));
            CHECK(failure.memory.capacity == std::llround(23.99 * 0x1.0p30));
            CHECK(failure.memory.free == std::int64_t{19} << 20U);
            CHECK(failure.memory.limit == std::int64_t{20} << 30U);
        }
    }
    const ProgramLog xgboost = log_of(
        "xgboost.core.XGBoostError: bad_alloc: cudaErrorMemoryAllocation: out of memory\n- Free memory: 1024\n"
        "- Requested memory: 4096\nTrial 4: Requested: 5 epochs");
    REQUIRE(xgboost.remarks.size() == 1);
    CHECK(xgboost.remarks[0].failure.requested_bytes == 4096);
    CHECK(log_of("OOM!\nRequested               : 300.00 MiB").remarks[0].failure.kind == FailureKind::out_of_memory);
}

TEST_CASE("a line that names SIGKILL or its exit code tells of a killed process, and of one death once") {
    for (const char* line :
         {"  exitcode  : -9 (pid: 1234)", "  traceback : Signal 9 (SIGKILL) received by PID 1234",
          "[2026-01-31 12:00:00] torch.distributed.elastic: [ERROR] failed (exitcode: -9) local_rank: 0 (pid: 1234) of binary: "
          "/usr/bin/python",
          "subprocess.CalledProcessError: Command '['python', 't.py']' died with <Signals.SIGKILL: 9>.", "worker exited with code 137",
          "RuntimeError: DataLoader worker (pid 12845) is killed by signal: Killed. ", "[ERROR] Trial 5: exit code 137"}) {
        CAPTURE(line);
        const ProgramLog log = log_of(line);
        REQUIRE(log.remarks.size() == 1);
        CHECK(was_killed(log.remarks[0].failure));
        CHECK(log.remarks[0].process_died);
    }
    for (const char* line :
         {"signal-to-noise ratio 9", "exit code 0", "if it dies with Signal 9 (SIGKILL), use less memory", "SIGTERM: exit code 143",
          "workers may be killed by signal 9", "Sending process 1234 closing signal SIGTERM"}) {
        CAPTURE(line);
        CHECK(log_of(line).remarks.empty());
    }
    const std::string death = "  exitcode  : -9 (pid: 1234)\n  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 1234\n";
    CHECK(log_of(death).remarks.size() == 1);
    CHECK(log_of(death + "  exitcode  : -9 (pid: 1235)\n").remarks.size() == 2);
    CHECK(log_of("[ERROR] Trial 5: exit code 137").remarks[0].trial == 5);
}

TEST_CASE("a loader's killed worker is no proof of the kernel's out-of-memory killer, and the kernel's line is") {
    const std::vector<hpo::Trial> trials{ended(0, logged_fail, 10, 0.5)};
    const std::string loader = "RuntimeError: DataLoader worker (pid 12845) is killed by signal: Killed. ";
    const std::string kernel = "Out of memory: Killed process 12845 (python) total-vm:900kB, anon-rss:800kB\n";
    const std::string end =
        "[W 2026-01-31 12:00:10,010] Trial 0 failed with parameters: {'x': 0.5} because of the following error: "
        "RuntimeError('" +
        loader.substr(14) + "').\n";
    const auto told = [&](const std::string& text) { return match_of(text, trials).told.at(0).failure; };
    CHECK(was_killed(told(end)));
    CHECK(told(kernel + end).kind == FailureKind::host_out_of_memory);
    const std::string below = "Traceback (most recent call last):\n  File \"t.py\", line 3, in f\n    g()\n" + loader + "\n";
    CHECK(was_killed(told(end + below)));
    const auto cases = failure_cases(trials, match_of(end, trials).told);
    REQUIRE(cases.size() == 1);
    CHECK(cases[0].killed());
    CHECK_FALSE(cases[0].is_oom());
}

TEST_CASE("the error that Optuna names is not replaced by a line that stands near it") {
    const std::vector<hpo::Trial> trials{ended(0, logged_complete, 10, 0.5), ended(1, logged_fail, 20, 1.5)};
    const std::string named = "[W 2026-01-31 12:00:20,010] Trial 1 failed with parameters: {'x': 1.5} because of the following error: ";
    const std::string ok =
        "[I 2026-01-31 12:00:10,010] Trial 0 finished with value: 0.5 and parameters: {'x': 0.5}. Best is trial 0 with value: 0.5.\n";
    const std::string loose = "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 23.69 GiB total capacity)\n";
    CHECK(match_of(ok + loose + named + "ValueError('bad label').\n", trials).told.at(1).failure.kind == FailureKind::trainer_error);
    CHECK(match_of(ok + loose + named + "The value nan is not acceptable.\n", trials).told.at(1).failure.kind ==
          FailureKind::out_of_memory);
}

TEST_CASE("a line with a clock of its own belongs to where it stands") {
    const std::vector<hpo::Trial> trials{ended(0, logged_complete, 10, 0.5), ended(1, logged_complete, 20, 1.5),
                                         ended(2, logged_complete, 30, 2.5)};
    const auto text = [](const std::string& line) {
        return "[I 2026-01-31 12:00:10,010] Trial 0 finished with value: 0.5 and parameters: {'x': 0.5}. Best is trial 0 with value: 0.5.\n"
               "[I 2026-01-31 12:00:20,010] Trial 1 finished with value: 1.5 and parameters: {'x': 1.5}. Best is trial 0 with value: "
               "0.5.\n" +
               line +
               "\n[I 2026-01-31 12:00:30,010] Trial 2 finished with value: 2.5 and parameters: {'x': 2.5}. Best is trial 0 with value: "
               "0.5.\n";
    };
    for (const char* time : {"12:00:05", "12:00:28", "11:00:28"}) {
        CAPTURE(time);
        const auto match =
            match_of(text("2026-01-31 " + std::string{time} + ",000 - trainer - ERROR - caught torch.cuda.OutOfMemoryError"), trials);
        REQUIRE(match.told.size() == 1);
        CHECK(match.told.begin()->first == 2);
    }
}

TEST_CASE("a number belongs to another study if the log names trials that the study has not") {
    const std::vector<hpo::Trial> trials{ended(0, logged_complete, 10, 0.5), ended(1, logged_complete, 20, 1.5)};
    CHECK(match_of("Trial 1: CUDA out of memory\n", trials).told.size() == 1);
    const auto match = match_of("Trial 1: CUDA out of memory\nTrial 999: CUDA out of memory\n", trials);
    CHECK(match.told.empty());
    CHECK(match.unmatched_memory == 2);
}

TEST_CASE("a log that has no reason for a returned NaN leaves the study as uncertain as it was") {
    const std::vector<hpo::Trial> trials{ended(0, logged_complete, 10, 0.5), ended(1, logged_fail, 20, 1.5)};
    const std::string ok =
        "[I 2026-01-31 12:00:10,010] Trial 0 finished with value: 0.5 and parameters: {'x': 0.5}. Best is trial 0 with value: 0.5.\n";
    const std::string failed = "[W 2026-01-31 12:00:20,010] Trial 1 failed with parameters: {'x': 1.5} because of the following error: ";
    const auto totals = [&](const std::string& text) {
        const auto cases = failure_cases(trials, match_of(text, trials).told);
        return failure_totals(trials, cases, silent_report(cases, trials));
    };
    CHECK(totals("").silent_failures == 1);
    for (const char* const value : {"The value nan is not acceptable.\n", "The value None could not be cast to float..\n"}) {
        CHECK(totals(ok + failed + value).unexplained_nan == 1);
        CHECK(totals(ok + failed + value).is_uncertain());
    }
    CHECK_FALSE(totals(ok + failed + "ValueError('bad label').\n").is_uncertain());
    // A shell that killed the training of the one trial that ran may have done it for the kernel's out-of-memory killer.
    const auto killed = totals(ok + "Killed\n" + failed + "The value nan is not acceptable.\n");
    CHECK(killed.killed_attempts == 1);
    CHECK(killed.is_uncertain());
    auto returned = trials;
    returned[1].state = logged_complete;
    returned[1].values = {HUGE_VAL};
    const std::string infinite =
        "[I 2026-01-31 12:00:20,010] Trial 1 finished with value: inf and parameters: {'x': 1.5}. Best is trial 0 with value: 0.5.\n";
    CHECK(match_of(ok + "Killed\n" + infinite, returned).told.at(1).failure.signal == 9);
    returned[1].values = {0.3};
    const auto finite =
        match_of(ok + "Killed\n" +
                     "[I 2026-01-31 12:00:20,010] Trial 1 finished with value: 0.3 and parameters: {'x': 1.5}. Best is trial "
                     "1 with value: 0.3.\n",
                 returned);
    CHECK(finite.told.empty());  // perhaps another process, before the program was started again
    CHECK(finite.unmatched_kills == 1);
}

namespace {

/// Trials 0 to 3, of which trial 1 failed and the others are complete.
std::vector<hpo::Trial> one_failed() {
    std::vector<hpo::Trial> trials;
    for (int i = 0; i < 4; ++i) {
        trials.push_back(ended(i, i == 1 ? logged_fail : logged_complete, 10 * (i + 1), 0.5));
        trials.back().started = *trials.back().completed - std::chrono::microseconds{9'000'000};
    }
    return trials;
}

std::string complete_line(int number) {
    return "[I 2026-01-31 12:00:" + std::to_string(10 * (number + 1)) + ",010] Trial " + std::to_string(number) +
           " finished with value: 0.5 and parameters: {'x': 0.5}. Best is trial 0 with value: 0.5.\n";
}

std::string failed_line(const std::string& error) {
    return "[W 2026-01-31 12:00:20,010] Trial 1 failed with parameters: {'x': 0.5} because of the following error: " + error + ".\n";
}

const std::string failed_end = "[W 2026-01-31 12:00:20,012] Trial 1 failed with value None.\n";
const std::string process_ended = "CalledProcessError(1, ['python', 'train.py', '--batch', '200'])";

}  // namespace

TEST_CASE("an error that only says that another process failed gives way to what that process printed last") {
    const auto trials = one_failed();
    const auto told = [&](const std::string& printed, const std::string& error) {
        return match_of(complete_line(0) + printed + failed_line(error) + failed_end + complete_line(2) + complete_line(3), trials);
    };
    const std::string oom =
        "Traceback (most recent call last):\n  File \"t.py\", line 3, in f\n    g()\ntorch.OutOfMemoryError: " + figures + "\n";
    for (const std::string& error : {process_ended, std::string{"RuntimeError('training failed')"}, std::string{"RuntimeError()"},
                                     std::string{"ValueError('train.py ended with 1')"}, std::string{"TrainingError('exit code 1')"},
                                     std::string{"ChildFailedError('see the log')"}, std::string{"RuntimeError('batch 200 gave up')"}}) {
        CAPTURE(error);
        const auto match = told(oom, error);
        REQUIRE(match.told.size() == 1);
        CHECK(match.told.at(1).failure.kind == FailureKind::out_of_memory);
        CHECK(match.told.at(1).failure.requested_bytes == std::int64_t{200} << 20);
        CHECK_THAT(match.told.at(1).place, Catch::StartsWith("run.log, line 2; the trial then failed with "));
        CHECK(match.unmatched_memory == 0);
    }
    // torchrun's own words stand between.
    const std::string launcher =
        "Traceback (most recent call last):\n  File \"r.py\", line 3, in f\n    g()\n"
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: t.py FAILED\n";
    CHECK(told(oom + launcher, process_ended).told.at(1).failure.kind == FailureKind::out_of_memory);
    CHECK(told("epoch 3\nCUDA out of memory at batch 200\nwandb: done\n", process_ended).told.at(1).failure.kind ==
          FailureKind::out_of_memory);
    CHECK(was_killed(
        told("[launch.py:321] ['python', 't.py'] exits with return code = -9\n", "RuntimeError('training failed')").told.at(1).failure));
}

TEST_CASE("an error that may follow from an out-of-memory or not is left, and the out-of-memory is named") {
    const auto trials = one_failed();
    const auto told = [&](const std::string& printed, const std::string& error) {
        return match_of(complete_line(0) + printed + failed_line(error) + failed_end + complete_line(2) + complete_line(3), trials);
    };
    const std::string oom =
        "Traceback (most recent call last):\n  File \"t.py\", line 3, in f\n    g()\ntorch.OutOfMemoryError: " + figures + "\n";
    const std::string other =
        "Traceback (most recent call last):\n  File \"t.py\", line 9, in f\n    h()\nValueError: labels of 7 classes\n";
    for (const auto& [printed, error] :
         {std::pair{oom + other, process_ended}, std::pair{std::string{"CUDA out of memory, batch skipped\n"}, process_ended},
          std::pair{oom + "epoch 1\nepoch 2\n", std::string{"RuntimeError('batch norm of 1 value')"}}}) {
        CAPTURE(printed);
        const auto match = told(printed, error);
        CHECK(match.told.at(1).failure.kind == FailureKind::trainer_error);
        CHECK(match.unmatched_memory == 1);
        REQUIRE(match.unmatched.size() == 1);
        CHECK_THAT(match.unmatched[0], Catch::StartsWith("run.log, line 2: out_of_memory that may be why trial 1 failed"));
    }
    for (const char* error : {"FileNotFoundError(2, 'No such file or directory')", "KeyError('loss')", "TypeError('no number')"}) {
        CAPTURE(error);
        CHECK(told(oom, error).told.at(1).failure.kind != FailureKind::out_of_memory);
        CHECK(told(oom, error).unmatched_memory == 1);
        const auto skipped = told("CUDA out of memory, batch skipped\n", error);
        CHECK(skipped.told.at(1).failure.kind != FailureKind::out_of_memory);
        CHECK(skipped.unmatched_memory == 0);
    }
}

TEST_CASE("what is printed between Optuna's line, its traceback and its last line about a trial is no later trial's") {
    const auto trials = one_failed();
    const std::string raised =
        "Traceback (most recent call last):\n  File \"t.py\", line 3, in f\n    g()\ntorch.OutOfMemoryError: " + figures + "\n";
    const std::string error = "OutOfMemoryError('" + figures + "')";
    for (const char* between : {"", "epoch 3 loss 0.2\nwandb: syncing run\n", "Error: something else\n"}) {
        for (const std::string& end : {failed_end, std::string{}}) {  // Optuna 2 does not print it
            CAPTURE(between, end);
            const auto match =
                match_of(complete_line(0) + failed_line(error) + between + raised + end + complete_line(2) + complete_line(3), trials);
            REQUIRE(match.told.size() == 1);
            CHECK(match.told.at(1).failure.kind == FailureKind::out_of_memory);
            CHECK(match.told.at(1).failure.traceback == raised);
        }
    }
    // Behind the last line, another trial printed it.
    const auto later = match_of(complete_line(0) + failed_line("KeyError('a')") + failed_end + raised + complete_line(2), trials);
    CHECK(later.told.at(1).failure.kind == FailureKind::trainer_error);
    CHECK(later.told.at(2).failure.kind == FailureKind::out_of_memory);
}

TEST_CASE("lines that were wrapped, at any character or between words, are read as the lines that they were") {
    const auto trials = one_failed();
    const std::string raised =
        "Traceback (most recent call last):\n  File \"t.py\", line 3, in f\n    g()\ntorch.OutOfMemoryError: " + figures + "\n";
    const std::string text =
        complete_line(0) + failed_line("OutOfMemoryError('" + figures + "')") + raised + failed_end + complete_line(2) + complete_line(3);
    const auto fold = [&](std::size_t width) {
        std::string folded;
        for (std::size_t at = 0, column = 0; at < text.size(); ++at) {
            if (text[at] == '\n') column = 0;
            else if (column++ == width) folded += '\n', column = 1;
            folded += text[at];
        }
        return folded;
    };
    const auto wrap = [&](std::size_t width, const std::string& indent) {  // blanks at the breaks are lost
        std::string wrapped;
        std::size_t column = 0;
        for (std::size_t at = 0; at < text.size();) {
            const auto end = text.find_first_of(" \n", at);
            const std::string word = text.substr(at, end - at);
            if (column > 0 && column + 1 + word.size() > width) wrapped += '\n' + indent, column = indent.size();
            else if (at > 0 && text[at - 1] == ' ') wrapped += ' ', ++column;
            wrapped += word;
            column += word.size();
            if (text[end] == '\n') wrapped += '\n', column = 0;
            at = end + 1;
        }
        return wrapped;
    };
    std::vector<std::string> logs;
    const auto behind_params = text.find('}') + 1;
    logs.push_back(text.substr(0, behind_params) + "\n" + text.substr(behind_params));
    for (const std::size_t width : {60U, 80U, 100U, 120U, 200U}) {
        logs.push_back(fold(width));
        logs.push_back(wrap(width, ""));
        logs.push_back(wrap(width, std::string(29, ' ')));
    }
    std::string one = text;
    one[one.find(" GPU 0 has")] = '\n';
    logs.push_back(one);
    for (const std::string& log : logs) {
        CAPTURE(log);
        const auto match = match_of(log, trials);
        CHECK(match.matched_events() == 4);
        REQUIRE(match.told.size() == 1);
        const hpo::Failure& failure = match.told.at(1).failure;
        CHECK(failure.kind == FailureKind::out_of_memory);
        CHECK(failure.requested_bytes == std::int64_t{200} << 20);
        CHECK(failure.memory.allocated == hpo::classify_python("RuntimeError('" + figures + "')").memory.allocated);
    }
}

TEST_CASE("a line of rich's handler is read without its columns") {
    const std::string source = "   _optimize.py:251";
    const auto match = match_of(
        "[01/31/26 12:00:10] INFO     Trial 0 finished with value: 0.5 and             " + source +
            "\n                             parameters: {'x': 0.5}. Best is trial 0 with value:  \n                             0.5.\n"
            "[01/31/26 12:00:20] WARNING  Trial 1 failed with parameters: {'x': 0.5}       " +
            source +
            "\n                             because of the following error:                 \n"
            "                             OutOfMemoryError('CUDA out of memory. Tried to    \n"
            "                             allocate 2.00 GiB').                              \n"
            "                    WARNING  Trial 1 failed with value None.                  " +
            source + "\n",
        one_failed());
    CHECK(match.matched_events() == 2);
    REQUIRE(match.told.size() == 1);
    CHECK(match.told.at(1).failure.requested_bytes == std::int64_t{2} << 30);
}

TEST_CASE("a line that only looks wrapped takes nothing from the lines behind it") {
    const auto log = log_of(failed_line("MyError(don't)") + "epoch 1\nMemoryError\n" + complete_line(2));
    REQUIRE(log.events.size() == 2);
    CHECK(log.events[0].line == 1);
    CHECK(log.events[1].line == 4);
    REQUIRE(log.remarks.size() == 1);
    CHECK(log.remarks[0].line == 3);
}

TEST_CASE("words of what ended a process for its host memory tell that of the trial whose process is gone") {
    auto trials = one_failed();
    trials[3].state = hpo::TrialState::running;
    trials[3].completed = {};
    trials[3].values = {};
    const std::string before = complete_line(0) + failed_line("KeyError('a')") + failed_end + complete_line(2);
    const std::string killed = "run.sh: line 7: 31415 Killed                  python train.py\n";
    const std::string slurm =
        "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.batch. Some of the step tasks have been OOM Killed.\n";
    for (const std::string& words :
         {slurm, killed + slurm, slurm + "srun: error: gpu07: task 0: Out Of Memory\n",
          std::string{
              "slurmstepd: error: Detected 1 oom-kill event(s) in step 7.batch cgroup. Some of your processes may have been killed by the "
              "cgroup out-of-memory handler.\n"},
          std::string{"    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n"},
          std::string{"        \"OOMKilled\": true,\n"}, std::string{"  terminated:\n    exitCode: 137\n    reason: OOMKilled\n"},
          std::string{"terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n"
                      "./run.sh: line 7: 31415 Aborted                 (core dumped) python train.py\n"},
          std::string{"=>> PBS: job killed: mem 68719476736 exceeded limit 64000000000\n"},
          std::string{"TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\n"},
          std::string{"qmaster: job 4711 exceeds job hard limit \"h_vmem\"\n"},
          std::string{"007 (4711.000.000) Shadow exception!\n\tJob has gone over cgroup memory limit of 4096 megabytes.\n"},
          std::string{"systemd-oomd[612]: Killed /user.slice/a.scope due to memory pressure for /user.slice being 82.05% > 50.00%\n"},
          std::string{"earlyoom[812]: sending SIGTERM to process 4242 uid 1000 \"python\": badness 1200, VmRSS 60000 MiB\n"},
          std::string{"4711.batch   train  OUT_OF_MEMORY  0:125\n"}}) {
        CAPTURE(words);
        const auto match = match_of(before + "epoch 0\n" + words, trials);
        REQUIRE(match.told.contains(3));
        CHECK(match.told.at(3).failure.kind == FailureKind::host_out_of_memory);
        CHECK(match.unmatched_memory == 0);
    }
    for (const char* words :
         {"zsh: killed     python train.py", "make: *** [Makefile:3: train] Killed", "make: *** [Makefile:3: train] Error 137",
          "srun: error: gpu07: task 0: Killed",
          "torch.multiprocessing.spawn.ProcessExitedException: process 0 terminated with signal SIGKILL",
          "mpirun noticed that process rank 0 with PID 4242 on node gpu07 exited on signal 9 (Killed).",
          "[2026-01-31 12:00:40,123] [ERROR] [launch.py:321:sigkill_handler] ['python', 't.py'] exits with return code = -9"}) {
        CAPTURE(words);
        const auto match = match_of(before + "epoch 0\n" + words + "\n", trials);
        REQUIRE(match.told.contains(3));
        CHECK(was_killed(match.told.at(3).failure));
    }
    for (const char* words :
         {"        \"OOMKilled\": false,", "slurmstepd: error: Detected 0 oom_kill events in StepId=1.0.",
          "if the job is OOMKilled, ask for more", "Out of memory: Killed process 77 (chrome) total-vm:900kB, anon-rss:800kB",
          "earlyoom[812]: sending SIGTERM to process 4242 uid 1000 \"firefox\": badness 1200, VmRSS 60000 MiB"}) {
        CAPTURE(words);
        CHECK_FALSE(match_of(before + words + "\n", trials).told.contains(3));
    }
    const std::string cancelled = "slurmstepd: error: *** JOB 4711 ON gpu07 CANCELLED AT 2026-01-31T12:00:40 DUE TO PREEMPTION ***\n";
    CHECK(match_of(before + cancelled, trials).told.at(3).failure.kind == FailureKind::crash);
}

TEST_CASE("words about memory after which a program goes on are no out-of-memory") {
    for (const char* line :
         {"2026-01-31 12:00:00.123456: W external/local_xla/xla/tsl/framework/bfc_allocator.cc:291] Allocator (GPU_0_bfc) ran out of "
          "memory "
          "trying to allocate 2.00GiB with freed_by_count=0. The caller indicates that this is not a failure, but this may mean that there "
          "could be performance gains if more memory were available.",
          "2026-01-31 12:00:00.123456: I tensorflow/stream_executor/cuda/cuda_driver.cc:739] failed to allocate 22.00G (23622320128 bytes) "
          "from "
          "device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
          "2026-01-31 12:00:00.123456: I external/local_xla/xla/stream_executor/cuda/cuda_executor.cc:739] failed to allocate 22.00G "
          "(23622320128 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
          "I0000 00:00:1735693200.123456 4242 cuda_executor.cc:739] failed to allocate 22.00G (23622320128 bytes) from device: "
          "CUDA_ERROR_OUT_OF_MEMORY: out of memory",
          "0 out of memory events", "oom: 0/10", "total: 0 CUDA OOM", "num_ooms: 0, out of memory: 0, retries: 0"}) {
        CAPTURE(line);
        CHECK(log_of(line).remarks.empty());
    }
    for (const char* line : {"10 out of memory events",
                             "2026-01-31 12:00:00.1: E external/xla/cuda_driver.cc:739] failed to allocate 22.00G "
                             "(23622320128 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory"}) {
        CAPTURE(line);
        CHECK(log_of(line).remarks.size() == 1);
    }
}

TEST_CASE("an error that a thread passes on is one error") {
    const auto log = log_of(
        "Traceback (most recent call last):\n  File \"t.py\", line 88, in main\n    loss.backward()\n"
        "RuntimeError: Caught OutOfMemoryError in pin memory thread for device 0.\nOriginal Traceback (most recent call last):\n"
        "  File \"pin_memory.py\", line 30, in _pin_memory_loop\n    data = data.pin_memory()\nRuntimeError: CUDA error: out of memory\n");
    REQUIRE(log.remarks.size() == 1);
    CHECK(log.remarks[0].line == 1);
    CHECK(log.remarks[0].last_line == 8);
    CHECK(log.remarks[0].failure.kind == FailureKind::host_out_of_memory);
}
