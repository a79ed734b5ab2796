// SPDX-License-Identifier: MIT
#include "tune/display/progress.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <limits>
#include <thread>

#include "hpo/tuner/study_event.hpp"
#include "small_terminal.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/metric_text.hpp"
#include "support/temporary_directory.hpp"

using namespace hpo;
using Catch::Contains;
using tune::Progress;
using tune::ProgressStyle;
using Lines = std::vector<std::string>;

namespace {

Progress::Settings settings(ProgressStyle style, int out = -1) {
    return {.style = style,
            .out = out,
            .trials = 40,
            .metrics = {"accuracy"},
            .devices = {{.name = "cpu", .capacity_bytes = 300 << 20}},
            .trial_finished = {}};
}

Trial complete_trial(std::int64_t number, double value) {
    Trial trial;
    trial.number = number;
    trial.state = TrialState::complete;
    trial.values = {value};
    trial.params.set("optim.lr", FloatDistribution{1e-4, 1e-1}, 0.01);
    trial.attempts.push_back({.seconds = 1.5, .outcome = OutcomeKind::complete});
    return trial;
}

/// A study of which a few trials are done and one runs.
void begin(Progress& progress, const std::string& name) {
    Study study;
    study.name = name;
    study.directions = {Direction::maximize};
    progress.on(event::StudyOpened{study, {}});
    for (std::int64_t number = 0; number < 12; ++number)
        progress.on(event::TrialFinished{complete_trial(number, 0.8 + 0.005 * double(number))});
    Trial running = complete_trial(12, 0);
    running.state = TrialState::running;
    progress.on(event::AttemptBegan{running, Attempt{}});
}

}  // namespace

TEST_CASE("the block of a study fits every width, and 80 columns show the time left") {
    for (const std::string name :
         {"fashion_mnist", "a study with a name that is as long as people make them when they keep notes in it", "研究の名前"}) {
        Progress progress{settings(ProgressStyle::none)};
        begin(progress, name);
        for (const std::size_t width : {40U, 60U, 80U, 120U, 200U}) {
            const Lines lines = progress.block(width);
            INFO(name << " at " << width);
            for (const std::string& line : lines)
                if (!line.starts_with("  trial ")) CHECK(tools::columns(line) < width);
            CHECK_THAT(lines.at(0), Contains("12/40") && Contains("left ") && Contains("0.855"));
            if (width >= 80) CHECK_THAT(lines.at(0), Contains("best accuracy 0.855"));
        }
        CHECK_THAT(progress.block(200).at(0), Contains("/min") && Contains("(trial 11)"));
    }
}

TEST_CASE("a running trial is shown with the parameters that its attempt runs with") {
    Progress progress{settings(ProgressStyle::none)};
    begin(progress, "s");
    Trial trial = complete_trial(13, 0);
    trial.state = TrialState::running;
    Attempt attempt;
    attempt.changed_params.emplace().set("optim.lr", FloatDistribution{1e-4, 1e-1}, 0.05);  // by a rule
    progress.on(event::AttemptBegan{trial, attempt});
    std::string text;
    for (const std::string& each : progress.block(120)) text += each + "\n";
    CHECK_THAT(text, Contains("trial 13") && Contains("lr=0.05"));
}

TEST_CASE("no count is cut off: what does not fit stands on a line of its own") {
    Progress progress{settings(ProgressStyle::none)};
    begin(progress, "s");
    const auto counts = [&](std::size_t width) {
        std::string text;
        for (const std::string& line : progress.block(width)) text += line + "\n";
        return text;
    };
    for (const std::size_t width : {40U, 80U, 120U})
        CHECK_THAT(counts(width), Contains("complete 12") && Contains("pruned 0") && Contains("failed 0") && Contains("cpu memory ") &&
                                      Contains(" of 300.00 MiB"));
    CHECK(progress.block(40).size() > progress.block(120).size());
}

TEST_CASE("a name and a reason with control characters reach neither a terminal nor a pipe") {
    const tests::TemporaryDirectory folder;
    const std::string file = folder.file("progress");
    const std::string bad = "a\x1b[2J\nb\x9b";
    const auto tell = [&](ProgressStyle style) {
        const int out = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        {
            Progress progress{settings(style, out)};
            begin(progress, bad);
            progress.note("note " + bad);
            Trial failed = complete_trial(13, 0);
            failed.state = TrialState::fail;
            failed.values.clear();
            failed.attempts.back().failure = Failure{.kind = FailureKind::trainer_error, .message = "why \x1b[31m\nframes"};
            progress.on(event::AttemptEnded{failed, failed.attempts.back()});
            progress.on(event::TrialFinished{failed});
        }
        ::close(out);
        return test::read_file(file);
    };
    const std::string plain = tell(ProgressStyle::plain);
    CHECK(tools::visible(plain) == plain);
    CHECK_THAT(plain, Contains("study a\\u001b[2J\\nb\\x9b: new") && Contains("note a\\u001b[2J\\nb\\x9b\n") &&
                          Contains("why \\u001b[31m (1.5 s)\n"));
    test::SmallTerminal terminal{200, 24};
    terminal.write(tell(ProgressStyle::bar));  // throws at a control character or an escape that is none of ours
    const Lines lines = terminal.lines();
    CHECK(std::find(lines.begin(), lines.end(), "hpo-tune: note: note a\\u001b[2J\\nb\\x9b") != lines.end());
}

TEST_CASE("proposals that are refused in a row are one line with the parameters of the first, and a count") {
    const tests::TemporaryDirectory folder;
    const std::string file = folder.file("progress");
    const int out = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    {
        Progress progress{settings(ProgressStyle::plain, out)};
        const auto refuse = [&](double x) {
            Rejection rejection{.reason = "needs " + std::to_string(int(x)) + " GiB"};
            rejection.params.set("x", FloatDistribution{0, 1000}, x);
            progress.on(event::ConfigurationRejected{rejection});
        };
        for (int i = 1; i <= 300; ++i) refuse(i);
        progress.note("then");
        refuse(7);
    }
    ::close(out);
    CHECK(test::read_file(file) ==
          "refused before launch: needs 1 GiB (x=1)\n"
          "299 more proposals refused before launch; the last: needs 300 GiB\n"
          "hpo-tune: note: then\n"
          "refused before launch: needs 7 GiB (x=7)\n");
}

TEST_CASE("an attempt that fails is told with its trial's end, or alone where another attempt follows") {
    const tests::TemporaryDirectory folder;
    const std::string file = folder.file("progress");
    const int out = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    {
        Progress progress{settings(ProgressStyle::plain, out)};
        Trial trial = complete_trial(3, 0);
        trial.values.clear();
        trial.attempts.back() = {.seconds = 1.5, .outcome = OutcomeKind::failed};
        Attempt& attempt = trial.attempts.back();
        attempt.failure = Failure{.kind = FailureKind::out_of_memory, .message = "refused", .where = "forward", .requested_bytes = 3 << 20};
        attempt.decision = "out of memory at micro-batch 64: retry at 32 (rule: a quarter)";
        progress.on(event::AttemptEnded{trial, attempt});
        progress.on(event::Idle{});
        attempt.failure = Failure{.kind = FailureKind::non_finite, .message = "the loss is nan"};
        attempt.decision = "non_finite";
        progress.on(event::AttemptEnded{trial, attempt});
        trial.state = TrialState::fail;
        progress.on(event::TrialFinished{trial});
    }
    ::close(out);
    CHECK(test::read_file(file) ==
          "trial 3: out of memory at micro-batch 64: retry at 32 (rule: a quarter) (3.00 MiB refused in forward)\n"
          "trial 3: failed, non_finite: the loss is nan (1.5 s)\n");
}

namespace {

/// A trial of 10 s that reported the steps 1 to 10.
Trial paced_trial(std::int64_t number) {
    Trial trial = complete_trial(number, 0.5);
    trial.attempts.back().seconds = 10;
    for (std::int64_t step = 1; step <= 10; ++step) trial.intermediate[step] = 0.1;
    return trial;
}

/// A study of which two of `trials` trials were done before, and one runs now.
void go_on(Progress& progress) {
    Study study;
    study.name = "s";
    study.directions = {Direction::maximize};
    progress.on(event::StudyOpened{study, {paced_trial(0), paced_trial(1)}});
    Trial running = complete_trial(2, 0);
    running.state = TrialState::running;
    progress.on(event::AttemptBegan{running, Attempt{}});
}

std::string shown(Progress& progress) {
    std::string text;
    for (const std::string& line : progress.block(120)) text += line + "\n";
    return text;
}

}  // namespace

TEST_CASE("the time left is known from the trials of an earlier run, and goes down while a trial runs") {
    auto of_five = settings(ProgressStyle::none);
    of_five.trials = 5;
    Progress progress{of_five};
    go_on(progress);
    CHECK_THAT(shown(progress), Contains("2/5") && Contains("elapsed ") && Contains("left 30 s"));
    std::this_thread::sleep_for(std::chrono::milliseconds{1600});
    CHECK_THAT(shown(progress), Contains("left 28 s"));
}

TEST_CASE("the time left is shared by the workers, and is not less than the longest running trial takes") {
    auto of_four = settings(ProgressStyle::none);
    of_four.trials = 4;
    of_four.workers = 2;
    Progress progress{of_four};
    go_on(progress);
    progress.on(event::AttemptBegan{complete_trial(3, 0), Attempt{}});
    CHECK_THAT(shown(progress), Contains("left 10 s") || Contains("left 10.0 s"));  // by the clock, a little less than 10
}

TEST_CASE("the time left counts that fewer trials run at once than there are workers") {
    auto of_four = settings(ProgressStyle::none);
    of_four.trials = 5;
    of_four.workers = 4;
    Progress progress{of_four};
    go_on(progress);  // one runs, and memory lets no other run beside it
    for (const std::int64_t number : {3, 4})
        progress.on(event::AttemptWaits{complete_trial(number, 0), Attempt{}, {.what = AttemptWait::What::memory, .need_bytes = 55 << 20}});
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    CHECK_THAT(shown(progress), Contains("left 30 s"));
    CHECK_THAT(shown(progress), Contains("trial 3  waits for 55.00 MiB of memory"));
}

TEST_CASE("a trial that waits shows for what and how long, no memory, and its pause counts in the time left") {
    auto of_three = settings(ProgressStyle::none);
    of_three.trials = 3;
    Progress progress{of_three};
    go_on(progress);
    Trial trial = complete_trial(2, 0);
    trial.attempts = {Attempt{}};
    progress.on(event::MemoryMarked{trial, {.name = "step", .seconds = 0, .step = std::nullopt, .reading = {.allocated = 38 << 20}}});
    CHECK_THAT(shown(progress), Contains("trial 2  38.00 MiB"));
    trial.attempts.back().failure = Failure{.kind = FailureKind::environment, .message = "Connection timed out"};
    progress.on(event::AttemptEnded{trial, trial.attempts.back()});
    CHECK_THAT(shown(progress), Contains("trial 2  waits for memory") && !Contains("trial 2  38"));
    const std::vector<std::pair<AttemptWait, std::string>> waits{
        {{.what = AttemptWait::What::pause, .seconds = 40}, "pauses for 40 s"},
        {{.what = AttemptWait::What::free_memory, .seconds = 40}, "waits for free memory, at most 40 s"},
        {{.what = AttemptWait::What::others}, "waits until no other trial runs"},
        {{.what = AttemptWait::What::worker}, "waits for a worker"}};
    for (const auto& [wait, text] : waits) {
        progress.on(event::AttemptWaits{trial, Attempt{}, wait});
        CAPTURE(text);
        const std::string words = shown(progress);
        CHECK_THAT(words, Contains("trial 2  " + text) && Contains("(attempt 2)"));
        if (wait.seconds > 0) CHECK_THAT(words, Contains("left 50 s"));  // then it takes 10 s
    }
    progress.on(event::AttemptBegan{trial, Attempt{.index = 1}});
    CHECK_THAT(shown(progress), !Contains("waits"));
}

TEST_CASE("the figures of a device's ledger stand whole on 80 columns") {
    auto shared = settings(ProgressStyle::none);
    shared.devices.front().ledger = [] {
        return std::vector<device::LedgerEntry>{{.pid = ::getpid(), .bytes = 100 << 20, .granted = true},
                                                {.pid = ::getpid(), .bytes = 5, .granted = false}};
    };
    Progress progress{shared};
    begin(progress, "s");
    CHECK_THAT(progress.block(80).back(), Contains("100.00 MiB reserved for 1 attempt, 1 waiting for room") && !Contains("["));
    CHECK_THAT(progress.block(120).back(), Contains("["));
}

TEST_CASE("a running trial shows how many steps a trial has, and what it has done counts") {
    auto of_three = settings(ProgressStyle::none);
    of_three.trials = 3;
    Progress progress{of_three};
    go_on(progress);
    Trial running = complete_trial(2, 0);
    progress.on(event::Reported{running, {.step = 10, .value = 0.4}});
    CHECK_THAT(shown(progress), Contains("step 10 of 10: 0.4") && Contains("left 0 s"));
    progress.on(event::Reported{running, {.step = 11, .value = 0.4}});
    CHECK_THAT(shown(progress), Contains("step 11: 0.4"));
}

TEST_CASE("an objective in bytes is shown as a size") {
    Progress::Settings in_bytes = settings(ProgressStyle::none);
    in_bytes.metrics = {"peak_memory_bytes"};
    Progress progress{in_bytes};
    Study study;
    study.name = "small";
    study.directions = {Direction::minimize};
    progress.on(event::StudyOpened{study, {}});
    progress.on(event::TrialFinished{complete_trial(0, 16.390625 * (1 << 20))});
    CHECK_THAT(progress.block(120).front(), Contains("best peak_memory_bytes 16.39 MiB"));
    CHECK(tools::metric_value_text("peak_memory_bytes", 900.5) == "900.5 bytes");
    CHECK(tools::metric_value_text("peak_memory_bytes", -3 * 1024.0) == "-3.00 KiB");
    CHECK(tools::metric_value_text("bytes_read", 4096) == "4096");
    CHECK(tools::metric_value_text("held_bytes", std::numeric_limits<double>::infinity()) == "inf");
}

TEST_CASE("an attempt that takes far longer than others is warned of once, and only when enough others are known") {
    tune::AttemptTimes times;
    for (int i = 0; i < 9; ++i) times.ended(20);
    CHECK_FALSE(times.warning(9, 1e6));
    times.ended(30);
    CHECK_FALSE(times.warning(10, 149));
    CHECK(times.warning(10, 150) ==
          "trial 10 has run for 2 min 30 s, and the longest of 10 complete attempts took 30 s: it may hang; --attempt-time ends such "
          "attempts");
    CHECK_FALSE(times.warning(10, 200));
    CHECK(times.warning(11, 200));
    tune::AttemptTimes quick;
    for (int i = 0; i < 50; ++i) quick.ended(0.1);
    CHECK_FALSE(quick.warning(50, 59));  // a slow disk or a busy machine can explain that
    CHECK(quick.warning(50, 60));
}
