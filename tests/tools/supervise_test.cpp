// SPDX-License-Identifier: MIT
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"
#include "support/processes.hpp"
#include "support/wording.hpp"
#include "tools/slow_bowl.hpp"
#include "tune/study_run/supervisor.hpp"

using namespace hpo::test;
using namespace std::chrono_literals;
using Catch::Contains;
using hpo::tune::RestartRule;
using hpo::tune::RunEnd;

namespace {

const std::string script = slow_bowl({.trials = 20, .workers = 2, .sleep_ms = 100});

std::vector<std::string> supervised(const Workshop& workshop, std::vector<std::string> more = {}) {
    workshop.write("bowl.lua", script);
    std::vector<std::string> words{tool("hpo-tune"), "run", "bowl.lua", "--supervise", "--progress", "plain", "--restart-pause", "50ms"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

std::vector<hpo::Trial> trials_in(const Workshop& workshop) {
    hpo::store::Sqlite store{workshop.path("hpo.db").string()};
    std::vector<hpo::Trial> trials;
    store.refresh(store.open_study("bowl", std::vector{hpo::Direction::minimize}, hpo::Store::Open::resume).id, trials);
    return trials;
}

/// The first living child of a process whose command line has `words` in it; 0: none.
pid_t child_of(pid_t parent, const std::string& words) {
    for (const auto& entry : std::filesystem::directory_iterator{"/proc"}) {
        const std::string name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        const std::string stat = read_file(entry.path() / "stat");
        const auto name_end = stat.rfind(')');
        if (name_end == std::string::npos || stat.size() < name_end + 5 || stat[name_end + 2] == 'Z') continue;
        if (std::stol(stat.substr(name_end + 4)) != parent) continue;
        if (read_file(entry.path() / "cmdline").find(words) != std::string::npos) return static_cast<pid_t>(std::stol(name));
    }
    return 0;
}

bool waits_until_gone(pid_t process) {
    return eventually([&] { return !hpo::tests::is_alive(process); });
}

}  // namespace

TEST_CASE("pauses before a restart double up to the longest, and begin anew after a finished trial or a long life") {
    RestartRule rule{{.most_in_vain = 20}};
    for (const int seconds : {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}) CHECK(rule.after(5s, false) == std::chrono::seconds{seconds});
    CHECK(rule.after(11min, false) == 1s);
    CHECK(rule.after(5s, false) == 2s);
    CHECK(rule.after(5s, true) == 1s);
    CHECK(rule.in_vain() == 0);
}

TEST_CASE("after too many starts in a row that finish no trial there is no restart") {
    RestartRule rule{{.most_in_vain = 2}};
    CHECK(rule.after(1s, false));
    CHECK(rule.after(1s, false));
    CHECK(rule.after(1s, true));  // counts anew
    CHECK(rule.after(1s, false));
    CHECK(rule.after(1h, false));
    CHECK_FALSE(rule.after(1h, false));
    CHECK_FALSE(RestartRule{{.most_in_vain = 0}}.after(1s, false));
}

TEST_CASE("a run is started again after a signal and after a store that could not be used, and after nothing else") {
    CHECK(RunEnd{SIGKILL, 0}.can_go_on());
    CHECK(RunEnd{SIGKILL, 0}.shell_status() == 137);
    CHECK(RunEnd{SIGSEGV, 0}.words() == "was ended by SIGSEGV");
    CHECK(RunEnd{std::nullopt, hpo::tune::store_unavailable_status}.can_go_on());
    CHECK(RunEnd{std::nullopt, hpo::tune::store_unavailable_status}.shell_status() == 3);
    for (const int status : {0, 1, 2, 3, 4, 5, 6, 127, 130}) CHECK_FALSE(RunEnd{std::nullopt, status}.can_go_on());
}

TEST_CASE("the child of a supervisor is given a file and the reason of its start, and is no supervisor itself") {
    using hpo::tune::supervised_words;
    using Words = std::vector<std::string>;
    CHECK(supervised_words({"run", "a.lua", "--supervise", "--trials", "3"}, {7, ""}) ==
          Words{"run", "a.lua", "--supervised=7", "--trials", "3"});
    CHECK(supervised_words({"run", "--supervise=true", "a.lua"}, {7, "it died"}) ==
          Words{"run", "--supervised=7", "a.lua", "--restarted=it died"});
}

TEST_CASE("a supervised run whose process is killed again and again ends all its trials, none twice, and says each restart once") {
    const Workshop workshop;
    const pid_t parent = start_command(workshop, supervised(workshop, {"--log", "run.log"}));
    constexpr std::size_t kills = 3;
    for (std::size_t kill_number = 0; kill_number < kills; ++kill_number) {
        REQUIRE(has_said(workshop, "\nstudy bowl: ", kill_number));
        REQUIRE(has_said(workshop, trial_is_complete, 2 * (kill_number + 1)));
        const pid_t run = child_of(parent, "--supervised=");
        REQUIRE(run > 0);
        const pid_t worker = child_of(run, "hpo-worker");
        ::kill(run, SIGKILL);
        if (worker > 0) CHECK(waits_until_gone(worker));
        REQUIRE(has_said(workshop, "it is started again in 0.05", kill_number + 1));
    }
    const auto ended = finish_command(workshop, parent);
    INFO(ended.error);
    CHECK(ended.status == 0);
    CHECK_THAT(ended.out, Contains("20 complete"));
    CHECK(times(ended.error, "hpo-tune: note: the run was ended by SIGKILL after ") == kills);
    CHECK(times(read_file(workshop.path("run.log")), "note: started again: the run was ended by SIGKILL after ") == kills);
    const auto trials = trials_in(workshop);
    CHECK(std::count_if(trials.begin(), trials.end(), hpo::counts_as_done) == 20);
    for (const hpo::Trial& trial : trials) {
        CAPTURE(trial.number);
        CHECK(hpo::is_finished(trial.state));
        if (hpo::counts_as_done(trial)) CHECK(trial.state == hpo::TrialState::complete);
    }
}

TEST_CASE("a supervisor that is killed leaves no process") {
    const Workshop workshop;
    const pid_t parent = start_command(workshop, supervised(workshop, {"--set", "sleep_ms=20000"}));
    REQUIRE(has_said(workshop, "\ntrial 1: x="));
    const pid_t run = child_of(parent, "--supervised=");
    REQUIRE(run > 0);
    const pid_t worker = child_of(run, "hpo-worker");
    REQUIRE(worker > 0);
    ::kill(parent, SIGKILL);
    (void)finish_command(workshop, parent);
    CHECK(waits_until_gone(run));
    CHECK(waits_until_gone(worker));
}

TEST_CASE("a supervised run that ends properly is not started again: done, wrong use, or asked to leave") {
    const Workshop workshop;
    const auto done = run_command(workshop, supervised(workshop, {"--trials", "2"}));
    CHECK(done.status == 0);
    CHECK_THAT(done.error, !Contains("started again"));
    const auto wrong = run_command(workshop, supervised(workshop, {"--sampler", "tpee"}));
    CHECK(wrong.status == 2);
    CHECK_THAT(wrong.error, Contains("unknown sampler 'tpee'") && !Contains("started again"));
    const auto negative = run_command(workshop, supervised(workshop, {"--restarts", "-1"}));
    CHECK(negative.status == 2);
    CHECK_THAT(negative.error, Contains("--restarts: got '-1'; " + whole_number_from(0, 1000000)));
    const auto unsupervised = run_command(workshop, {tool("hpo-tune"), "run", "bowl.lua", "--restarts", "3"});
    CHECK(unsupervised.status == 2);
    CHECK_THAT(unsupervised.error, Contains("--restarts: the run is not supervised; add --supervise"));
    const auto alone = run_command(workshop, {tool("hpo-tune"), "run", "bowl.lua", "--supervised", "99"});
    CHECK(alone.status == 2);
    CHECK_THAT(alone.error, Contains("only hpo-tune run --supervise gives this option"));

    const Workshop other;
    const pid_t parent = start_command(other, supervised(other, {"--set", "sleep_ms=200", "--trials", "50"}));
    REQUIRE(has_said(other, trial_is_complete));
    ::kill(parent, SIGTERM);
    const auto asked = finish_command(other, parent);
    INFO(asked.error);
    CHECK(asked.status == 130);
    CHECK(times(asked.error, "interrupted: ending the running trials") == 1);
    CHECK_THAT(asked.error + asked.out, Contains(" --supervise") && !Contains("started again"));
    for (const hpo::Trial& trial : trials_in(other)) CHECK(hpo::is_finished(trial.state));
}

TEST_CASE("a supervised run that somebody stopped with SIGSTOP ends when the supervisor is asked to end") {
    const Workshop workshop;
    const pid_t parent = start_command(workshop, supervised(workshop, {"--set", "sleep_ms=200", "--trials", "50"}));
    REQUIRE(has_said(workshop, trial_is_complete));
    const pid_t run = child_of(parent, "--supervised=");
    REQUIRE(run > 0);
    REQUIRE(::kill(run, SIGSTOP) == 0);
    REQUIRE(::kill(parent, SIGTERM) == 0);
    CHECK(finish_command(workshop, parent).status == 130);
    CHECK(waits_until_gone(run));
    for (const hpo::Trial& trial : trials_in(workshop)) CHECK(hpo::is_finished(trial.state));
}

TEST_CASE("a supervised run that dies before each trial's end is given up, with the reason, on stderr and in the log") {
    const Workshop workshop;
    const pid_t parent = start_command(workshop, supervised(workshop, {"--set", "sleep_ms=20000", "--restarts", "1", "--log", "run.log"}));
    for (std::size_t kills = 1; kills <= 2; ++kills) {
        REQUIRE(has_said(workshop, "study bowl: ", kills));
        const pid_t run = child_of(parent, "--supervised=");
        REQUIRE(run > 0);
        ::kill(run, SIGKILL);
    }
    const auto ended = finish_command(workshop, parent);
    INFO(ended.error);
    CHECK(ended.status == 137);
    CHECK(times(ended.error, "it is started again in") == 1);
    CHECK_THAT(ended.error, Contains("no trial has finished in the latest 2 starts, so it is not started again"));
    CHECK_THAT(read_file(workshop.path("run.log")),
               Contains("note: the run was ended by SIGKILL after ") && Contains("no trial has finished in the latest 2 starts"));
}

namespace {

/// Runs a command on a terminal of its own that closes once the log has `words`. Returns its exit status, or 128 + the signal.
int on_closing_terminal(const Workshop& workshop, std::vector<std::string> words, const std::string& log, const std::string& said) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const std::string folder = workshop.path().string();
    int terminal = -1;
    const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    if (child == 0) {
        if (::chdir(folder.c_str()) == 0) ::execv(arguments[0], arguments.data());
        ::_exit(126);
    }
    REQUIRE(child > 0);
    CHECK(has_said(workshop, said, 1, log));
    ::close(terminal);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("a terminal that closes ends a run, but not a supervised one") {
    const Workshop workshop;
    workshop.write("bowl.lua", script);
    const std::vector<std::string> run{tool("hpo-tune"), "run", "bowl.lua", "--trials", "12", "--log", "run.log"};
    CHECK(on_closing_terminal(workshop, run, "run.log", "trial 2: ended") == 130);
    CHECK_THAT(read_file(workshop.path("run.log")), Contains("note: interrupted: ending the running trials"));
    const auto done = [&] {
        const auto trials = trials_in(workshop);
        return std::count_if(trials.begin(), trials.end(), hpo::counts_as_done);
    };
    CHECK(done() < 12);
    std::vector<std::string> again = run;
    again.insert(again.end() - 1, "other.log");
    again.back() = "--supervise";
    CHECK(on_closing_terminal(workshop, again, "other.log", ": ended: COMPLETE") == 0);
    CHECK(done() == 12);
    CHECK_THAT(read_file(workshop.path("other.log")), Contains("12 complete") && Contains("; status 0\n") && !Contains("started again"));
}
