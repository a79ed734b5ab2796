// SPDX-License-Identifier: MIT
#include "hpo/worker/supervisor/process.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <string>

#include "hpo/base/error.hpp"
#include "hpo/core/value.hpp"
#include "process/spawn.hpp"

namespace hpo::worker {

std::string seconds_text(std::chrono::milliseconds time) {
    if (time.count() % 1000 == 0) return std::to_string(time.count() / 1000) + " s";
    return number_text(static_cast<double>(time.count()) / 1000) + " s";
}

Process Process::start(const ProcessSpec& spec) {
    SpawnSpec start{.program = spec.program.string(),
                    .arguments = spec.arguments,
                    .environment = spec.environment,
                    .descriptors = {SpawnSpec::null_device, spec.output, spec.errors}};
    if (spec.channel >= 0) start.descriptors.push_back(spec.channel);
    const pid_t pid = spawn(start);
    if (pid < 0) throw system_failure(spec.program.string() + ": cannot be started");
    Process process{pid};
    process.handle_ = Descriptor{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
    if (!process.handle_)
        throw system_failure("cannot watch process " + std::to_string(pid) + (errno == ENOSYS ? " (hpo needs Linux 5.3 or later)" : ""));
    return process;
}

Process::~Process() {
    if (pid_ == 0 || exit_) return;
    signal(SIGKILL);
    static_cast<void>(wait());
}

int Process::handle() const noexcept { return handle_.get(); }

void Process::signal(int number) noexcept {
    if (exit_) return;
    ::kill(-pid_, number);
    ::kill(pid_, number);
}

std::optional<ProcessExit> Process::wait(std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (!exit()) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
        if (left.count() <= 0) break;
        ::pollfd entry{handle_.get(), POLLIN, 0};
        ::poll(&entry, 1, static_cast<int>(left.count()));
    }
    return exit_;
}

void Process::reap(int flags) {
    ::siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | flags) != 0) {
        if (errno != EINTR) exit_ = ProcessExit{};  // other code reaped it
        return;
    }
    if (info.si_pid == 0) return;
    ::kill(-pid_, SIGKILL);  // now, because the zombie still keeps the group's number from being used again
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    exit_ = WIFSIGNALED(status) ? ProcessExit{std::nullopt, WTERMSIG(status)} : ProcessExit{WEXITSTATUS(status), std::nullopt};
}

}  // namespace hpo::worker
