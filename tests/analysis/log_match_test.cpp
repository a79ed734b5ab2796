// SPDX-License-Identifier: MIT
#include "hpo/analysis/log_match.hpp"

#include <random>
#include <string>
#include <vector>

#include "hpo/analysis/failure_case.hpp"
#include "support/catch.hpp"

using namespace hpo::analysis;
using hpo::FailureKind;

namespace {

ProgramLog log_of(const std::string& text) {
    LogReader reader{"run.log"};
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
    trial.completed = hpo::Time{noon + static_cast<std::int64_t>(second * 1e6)};
    trial.started = hpo::Time{trial.completed->microseconds - 10'000'000};
    if (state == hpo::TrialState::complete) trial.values = {x};
    return trial;
}

LogMatch match_of(const std::string& text, const std::vector<hpo::Trial>& trials) {
    LogMatch match;
    match_log(log_of(text), trials, match);
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
    CHECK(match.matched_events == 3);
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
    CHECK(none.matched_events == 0);
    CHECK(none.told.empty());
    REQUIRE(none.unmatched.size() == 1);
    CHECK_THAT(none.unmatched[0], Catch::StartsWith("run.log, lines 1 to 4: the 4 that tell"));

    const std::string right =
        "[W 2026-01-31 12:00:20,050] Trial 1 failed with parameters: {'x': 1.5} because of the following error: KeyError('d').\n";
    const std::string near =
        "[W 2026-01-31 12:00:25,050] Trial 1 failed with parameters: {'x': 1.5} because of the following error: KeyError('e').\n";
    for (const auto& text : {right + near, near + right}) {
        const auto match = match_of(text, trials);
        CHECK(match.told.at(1).failure.message == "d");  // the line nearest to the trial's end
        CHECK(match.unmatched.size() == 1);
    }
    const std::string timeless =
        "WARNING:optuna:Trial 1 failed with parameters: {'x': 1.5} because of the following error: KeyError('f').\n";
    CHECK(match_of(timeless, trials).told.at(1).failure.message == "f");
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

TEST_CASE("what was printed without a number belongs to the one trial that ran then, or to none") {
    std::vector<hpo::Trial> trials{ended(0, logged_complete, 10, 0.5), ended(1, hpo::TrialState::pruned, 20, 1.5),
                                   ended(2, logged_complete, 30, 2.5)};
    for (std::size_t i = 1; i < 3; ++i) trials[i].started = hpo::Time{trials[i].completed->microseconds - 9'000'000};
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
