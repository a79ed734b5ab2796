// SPDX-License-Identifier: MIT
#include "tune/study_run/interrupts.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "hpo/base/error.hpp"

namespace hpo::tune {
namespace {

std::atomic<int> interrupts{0};

void on_interrupt(int /*signal*/) {
    if (interrupts.fetch_add(1) > 0) _exit(exit_code(Errc::interrupted));
}

}  // namespace

void watch_interrupts() {
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    struct sigaction hangup {};
    for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
    sigaction(SIGHUP, nullptr, &hangup);
    // Not under nohup, where a study outlives its terminal.
    if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, nullptr);
}

bool was_interrupted() { return interrupts.load() > 0; }

}  // namespace hpo::tune
