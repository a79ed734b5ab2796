// SPDX-License-Identifier: MIT
#include "tune/study_run/supervisor.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <utility>

#include "hpo/base/error.hpp"
#include "hpo/base/signal_name.hpp"
#include "hpo/base/time.hpp"
#include "support/text.hpp"
#include "tune/study_run/interrupts.hpp"

namespace hpo::tune {
namespace {

constexpr int cannot_start_status = 127;

/// One for each finished trial.
std::int64_t bytes_of(int file) {
    struct ::stat status {};
    return ::fstat(file, &status) == 0 ? status.st_size : 0;
}

}  // namespace

std::string RunEnd::words() const {
    if (signal) return "was ended by " + signal_name(*signal);
    if (status == store_unavailable_status) return "could not use its store";
    return "ended with status " + std::to_string(status);
}

int RunEnd::shell_status() const {
    constexpr int by_signal = 128;
    if (signal) return by_signal + *signal;
    return status == store_unavailable_status ? exit_code(Errc::store_unavailable) : status;
}

bool RunEnd::can_go_on() const { return signal.has_value() || status == store_unavailable_status; }

std::optional<std::chrono::milliseconds> RestartRule::after(std::chrono::milliseconds life, bool has_finished_trials) {
    in_vain_ = has_finished_trials ? 0 : in_vain_ + 1;
    if (in_vain_ > settings_.most_in_vain) return std::nullopt;
    const bool anew = has_finished_trials || life >= settings_.long_life || pause_.count() == 0;
    pause_ = anew ? settings_.first_pause : std::min(2 * pause_, settings_.longest_pause);
    return pause_;
}

std::vector<std::string> supervised_words(std::vector<std::string> words, const Supervised& given) {
    for (std::string& word : words) {
        if (word == "--supervise" || word.starts_with("--supervise=")) word = "--supervised=" + std::to_string(given.finished_file);
    }
    if (!given.restarted.empty()) words.push_back("--restarted=" + given.restarted);
    return words;
}

std::int64_t Supervised::finished_trials() const { return has_supervisor() ? bytes_of(finished_file) : 0; }

void Supervised::trial_finished() const {
    if (has_supervisor() && ::write(finished_file, "t", 1) < 0) {  // then the supervisor counts one less
    }
}

Supervisor::Supervisor(Settings settings)
    : settings_{std::move(settings)},
      program_{std::filesystem::read_symlink("/proc/self/exe").string()},
      finished_{::memfd_create("hpo-finished-trials", 0)} {
    if (!finished_) throw Error{Errc::check_failed, std::string{"--supervise: memory to share with the run: "} + std::strerror(errno)};
}

int Supervisor::run() {
    ignores_hangup_ = hangup_is_ignored();
    sigemptyset(&watched_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&watched_, signal);
    ::sigprocmask(SIG_BLOCK, &watched_, &before_);
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGCHLD, SIG_DFL);
    RestartRule rule{settings_.restarts};
    std::string why;
    for (;;) {
        const std::int64_t finished = finished_trials();
        const Stopwatch life;
        const RunEnd end = wait(start(why));
        if (stopping_ && end.signal) return exit_code(Errc::interrupted);
        if (stopping_ || !end.can_go_on()) return end.shell_status();
        const std::chrono::milliseconds lived{static_cast<std::int64_t>(life.seconds() * 1000)};
        why = "the run " + end.words() + " after " + tools::duration(life.seconds());
        const auto pause = rule.after(lived, finished_trials() > finished);
        if (!pause) {
            settings_.tell_end(why + "; no trial has finished in the latest " + std::to_string(rule.in_vain()) +
                               " starts, so it is not started again");
            return end.shell_status();
        }
        settings_.tell(why + "; it is started again in " + tools::duration(static_cast<double>(pause->count()) / 1000));
        for (const Stopwatch waited; !stopping_;) {
            const auto left = *pause - std::chrono::milliseconds{static_cast<std::int64_t>(waited.seconds() * 1000)};
            if (left.count() <= 0) break;
            if (const auto signal = next_signal(left)) take(*signal, 0);
        }
        if (stopping_) return exit_code(Errc::interrupted);
    }
}

pid_t Supervisor::start(const std::string& why) const {
    std::vector<std::string> words = supervised_words(settings_.words, {finished_.get(), why});
    words.insert(words.begin(), program_);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) throw Error{Errc::check_failed, std::string{"--supervise: the run cannot be started: "} + std::strerror(errno)};
    if (child > 0) return child;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(cannot_start_status);  // the parent died before
    sigset_t mask = before_;
    sigaddset(&mask, SIGHUP);  // until the run is ready for it
    ::sigprocmask(SIG_SETMASK, &mask, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    ::execv(program_.c_str(), arguments.data());
    const std::string problem = "hpo-tune: error: " + program_ + ": cannot be started: " + std::strerror(errno) + "\n";
    if (::write(STDERR_FILENO, problem.data(), problem.size()) < 0) {  // nobody reads it
    }
    ::_exit(cannot_start_status);
}

RunEnd Supervisor::wait(pid_t child) {
    for (;;) {
        int status = 0;
        const pid_t ended = ::waitpid(child, &status, WNOHANG);
        if (ended == child || (ended < 0 && errno == ECHILD)) {
            // What a terminal sends to both comes before the end of the child.
            while (const auto signal = next_signal(std::chrono::milliseconds{0})) take(*signal, 0);
            return WIFSIGNALED(status) ? RunEnd{WTERMSIG(status), 0} : RunEnd{std::nullopt, WEXITSTATUS(status)};
        }
        constexpr std::chrono::milliseconds longest{60'000};
        if (const auto signal = next_signal(longest)) take(*signal, child);
    }
}

std::optional<siginfo_t> Supervisor::next_signal(std::chrono::milliseconds most) const {
    const timespec timeout{most.count() / 1000, (most.count() % 1000) * 1'000'000};
    siginfo_t info{};
    return ::sigtimedwait(&watched_, &info, &timeout) > 0 ? std::optional{info} : std::nullopt;
}

void Supervisor::take(const siginfo_t& signal, pid_t child) {
    if (signal.si_signo == SIGCHLD) return;
    if (signal.si_signo == SIGHUP) {
        if (!ignores_hangup_) leave_terminal();
        if (child > 0 && signal.si_code != SI_KERNEL) ::kill(child, SIGHUP);
        return;
    }
    stopping_ = true;
    // What the terminal sends, such as Ctrl-C, the child gets from it, too. It would take a second signal as the wish to leave at once.
    if (child > 0 && signal.si_code != SI_KERNEL) ::kill(child, signal.si_signo);
    if (child > 0) ::kill(child, SIGCONT);  // a run that somebody stopped would never see it
}

std::int64_t Supervisor::finished_trials() const { return bytes_of(finished_.get()); }

}  // namespace hpo::tune
