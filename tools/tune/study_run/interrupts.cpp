// SPDX-License-Identifier: MIT
#include "tune/study_run/interrupts.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>

#include "hpo/base/error.hpp"

namespace hpo::tune {
namespace {

std::atomic<int> interrupts{0};
bool outlives_terminal = false;

/// By descriptor. A terminal that has hung up does not say any more that it is one.
using Terminals = std::array<bool, 3>;
Terminals terminals_now() { return {::isatty(0) != 0, ::isatty(1) != 0, ::isatty(2) != 0}; }
const Terminals terminals = terminals_now();

/// A signal to a whole process group reaches a supervised run twice: directly, and through its supervisor. So a second one counts only
/// after this time.
constexpr std::int64_t same_signal_ms = 200;
std::atomic<std::int64_t> first_ms{0};

void on_interrupt(int /*signal*/) {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const std::int64_t ms = std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
    if (interrupts.fetch_add(1) == 0) first_ms = ms;
    else if (ms - first_ms >= same_signal_ms) _exit(exit_code(Errc::interrupted));
}

void on_hangup(int /*signal*/) {
    const int error = errno;
    leave_terminal();
    errno = error;
}

}  // namespace

bool hangup_is_ignored() {
    struct sigaction hangup {};
    sigaction(SIGHUP, nullptr, &hangup);
    return hangup.sa_handler == SIG_IGN;
}

void watch_interrupts() {
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
    if (!hangup_is_ignored() && !outlives_terminal) sigaction(SIGHUP, &action, nullptr);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, nullptr);
}

bool was_interrupted() { return interrupts.load() > 0; }

void outlive_terminal() {
    if (!hangup_is_ignored()) {
        struct sigaction action {};
        action.sa_handler = on_hangup;
        action.sa_flags = SA_RESTART;
        sigaction(SIGHUP, &action, nullptr);
        outlives_terminal = true;
    }
    sigset_t hangup;
    sigemptyset(&hangup);
    sigaddset(&hangup, SIGHUP);
    sigprocmask(SIG_UNBLOCK, &hangup, nullptr);
}

void leave_terminal() {
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere < 0) return;
    for (int descriptor = 0; descriptor < 3; ++descriptor) {
        if (terminals.at(static_cast<std::size_t>(descriptor))) ::dup2(nowhere, descriptor);
    }
    ::close(nowhere);
}

}  // namespace hpo::tune
