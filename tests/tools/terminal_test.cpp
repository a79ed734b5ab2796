// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <cstdlib>
#include <filesystem>

#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"
#include "support/terminal.hpp"

using namespace hpo::test;
using Catch::Contains;

namespace {

/// A script whose every text has control characters in it: what it prints, its reasons, its errors.
const std::string hostile = R"(
local hpo = require "hpo"
print("from the script \27[2J\27]0;title\7\r\tand\nmore \155")
return hpo.study {
  name = "bowl",
  trainer = { "quadratic", steps = 2 },
  objective = { metric = "value", direction = "minimize" },
  sampler = "random", pruner = "none", recovery = "fail", trials = 4,
  space = function(trial)
    local x = trial:float("x", -5, 5)
    trial:require(x < 4, "too \27[31m large\nand red")
  end,
}
)";

/// What a command writes to a terminal of its own, standard output and standard error together.
std::string on_a_terminal(const Workshop& workshop, std::vector<std::string> words, unsigned short columns, const std::string& term) {
    const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(terminal >= 0);
    REQUIRE(::grantpt(terminal) == 0);
    REQUIRE(::unlockpt(terminal) == 0);
    const std::string name = ::ptsname(terminal);
    const int end = ::open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(end >= 0);
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    ::ioctl(terminal, TIOCSWINSZ, &size);
    words.insert(words.begin(), {"/usr/bin/env", "TERM=" + term, "NO_COLOR=", tool("hpo-tune")});
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (const int descriptor : {1, 2}) posix_spawn_file_actions_adddup2(&actions, end, descriptor);
    posix_spawn_file_actions_addchdir_np(&actions, workshop.path().c_str());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    REQUIRE(posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    ::close(end);
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(terminal, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(got));
    ::close(terminal);
    int status = 0;
    waitpid(child, &status, 0);
    INFO(text);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    return text;
}

/// The text without the escape sequences of our own display and without the returns that the terminal driver adds.
std::string without_own_escapes(std::string text) {
    for (const std::string_view own : {"\x1b[?2026h", "\x1b[?2026l", "\x1b[?7l", "\x1b[?7h", "\x1b[J", "\x1b[K", "\x1b[B"}) {
        for (auto at = text.find(own); at != std::string::npos; at = text.find(own, at)) text.erase(at, own.size());
    }
    for (auto at = text.find("\x1b["); at != std::string::npos; at = text.find("\x1b[", at)) {  // so many rows up
        const auto stop = text.find_first_not_of("0123456789", at + 2);
        if (stop == std::string::npos || text[stop] != 'A') break;
        text.erase(at, stop + 1 - at);
        if (at > 0 && text[at - 1] == '\r') text.erase(--at, 1);
    }
    for (auto at = text.find("\r\n"); at != std::string::npos; at = text.find("\r\n", at)) text.erase(at, 1);
    return text;
}

/// Runs the trainer that fails as it is asked to, with a rule for failures.
CommandResult with_fault(const Workshop& workshop, std::vector<std::string> words, const std::string& fault) {
    workshop.write("fault.lua", R"(
local hpo = require "hpo"
return hpo.study {
  name = "faults", trainer = { "fault", fault = hpo.option("fault", "none", "what goes wrong"), limit = 16 },
  objective = { metric = "value", direction = "minimize" },
  sampler = "random", pruner = "none", recovery = "fail", trials = 2, workers = 1,
  space = function(trial) trial:categorical("batch", { 64 }) end,
  on_oom = function(trial, failure, plan)
    if plan.micro_batch > 16 then return hpo.retry { micro_batch = plan.micro_batch // 4, reason = "a quarter" } end
  end,
}
)");
    words.insert(words.begin(), tool("hpo-tune"));
    words.insert(words.begin() + 2, {"fault.lua", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers", "--set", "fault=" + fault});
    return run_command(workshop, words);
}

std::size_t count_of(const std::string& text, const std::string& words) {
    std::size_t count = 0;
    for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
    return count;
}

}  // namespace

TEST_CASE("a script's control characters reach no terminal, whatever is drawn there") {
    const Workshop workshop;
    workshop.write("bowl.lua", hostile);
    const std::string text = on_a_terminal(workshop, {"run", "bowl.lua", "--progress", "auto"}, 80, "xterm-256color");
    INFO(hpo::tools::visible(text));
    CHECK_THAT(text, Contains("\x1b[?2026h") && Contains("/4"));  // it was drawn
    const std::string shown = without_own_escapes(text);
    CHECK(hpo::tools::visible(shown) == shown);
    CHECK_THAT(shown, Contains(R"(from the script \u001b[2J\u001b]0;title\u0007\r)") && Contains("more \\x9b"));
}

TEST_CASE("a dumb terminal gets plain lines without a single escape") {
    const Workshop workshop;
    workshop.write("bowl.lua", hostile);
    for (const std::string style : {"auto", "bar"}) {
        std::filesystem::remove(workshop.path("hpo.db"));
        const std::string text = on_a_terminal(workshop, {"run", "bowl.lua", "--progress", style}, 80, "dumb");
        CHECK_THAT(text, !Contains("\x1b") && Contains("trial 3: complete") && Contains("study bowl: new, 4 trials"));
    }
}

TEST_CASE("a pipe gets a line for each event, and an error stays on one line") {
    const Workshop workshop;
    workshop.write("bowl.lua", hostile);
    const CommandResult run = run_command(workshop, {tool("hpo-tune"), "run", "bowl.lua"});
    CHECK(run.status == 0);
    for (const std::string& text : {run.out, run.error}) CHECK(hpo::tools::visible(text) == text);
    workshop.write("broken.lua", "error('first \\27[2J\\nsecond\\r\\127')");
    for (const std::string command : {"run", "check", "space"}) {
        const CommandResult broken = run_command(workshop, {tool("hpo-tune"), command, "broken.lua"});
        CAPTURE(command, broken.error);
        CHECK(broken.status == 2);
        CHECK_THAT(broken.error, Contains("broken.lua:1: first") && Contains("second") && Contains("\\u007f"));
        CHECK(hpo::tools::visible(broken.error) == broken.error);
        const auto end = broken.error.find('\n');
        CHECK((end + 1 == broken.error.size() || broken.error.substr(end + 1) == "broken.lua: 1 problem\n"));
    }
}

TEST_CASE("an error with C++ stack frames is told without them, they are behind -v, and in the store beside the message") {
    const Workshop workshop;
    const std::string said = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 24.00 GiB";
    const CommandResult brief = with_fault(workshop, {"try"}, "oom_with_frames");
    CHECK(brief.status == 1);
    CHECK_THAT(brief.out, Contains(said + "\n") && !Contains("frame #") && Contains("-v also shows the stack"));
    CHECK(count_of(brief.out, said) == 1);
    CHECK_THAT(with_fault(workshop, {"try", "-v"}, "oom_with_frames").out, Contains("frame #1: "));
    (void)with_fault(workshop, {"run"}, "oom_with_frames");
    hpo::store::Sqlite store{workshop.path("hpo.db").string()};
    std::vector<hpo::Trial> trials;
    store.refresh(store.open_study("faults", std::vector{hpo::Direction::minimize}, hpo::Store::Open::resume).id, trials);
    REQUIRE(trials.size() == 2);
    for (const hpo::Trial& trial : trials) {
        REQUIRE(trial.attempts.at(0).failure);
        CHECK(trial.attempts[0].failure->message == said);
        CHECK_THAT(trial.attempts[0].failure->traceback, Contains("frame #1: "));
    }
}

TEST_CASE("a trial that fails is one line, and a rule's retry says what ran out, what is tried and why") {
    const Workshop workshop;
    const CommandResult nan = with_fault(workshop, {"run"}, "nan");
    INFO(nan.error);
    CHECK(count_of(nan.error, "non_finite") == 2);  // of two trials
    CHECK_THAT(nan.error, Contains("trial 0: failed, non_finite: "));
    std::filesystem::remove(workshop.path("hpo.db"));
    const CommandResult retried = with_fault(workshop, {"run"}, "oom_once_above");
    INFO(retried.error);
    CHECK(retried.status == 0);
    CHECK_THAT(retried.error,
               Contains("trial 0: out of memory at micro-batch 64: retry at 16 with 4 accumulation steps (rule: a quarter) (") &&
                   Contains("trial 0: complete"));
    const CommandResult again = with_fault(workshop, {"run", "--trials", "3"}, "oom_once_above");
    CHECK_THAT(again.error, Contains("study faults: 2 of 3 done; 1 to go"));
    CHECK_THAT(with_fault(workshop, {"run", "--trials", "3"}, "oom_once_above").error,
               Contains("study faults: 3 of 3 done; nothing to do"));
}
