// SPDX-License-Identifier: MIT
#pragma once

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/inline.hpp"
#include "hpo/core/value.hpp"
#include "hpo/worker/supervisor/process.hpp"

namespace hpo::worker::inline supervisor {

HPO_INLINE std::string seconds_text(std::chrono::milliseconds time) {
    if (time.count() % 1000 == 0) return std::to_string(time.count() / 1000) + " s";
    return number_text(static_cast<double>(time.count()) / 1000) + " s";
}

HPO_INLINE Process Process::start(const ProcessSpec& spec) {
    const Descriptor channel = lifted(spec.channel);
    const Descriptor output = lifted(spec.output);
    const Descriptor errors = lifted(spec.errors);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (output) posix_spawn_file_actions_adddup2(&actions, output.get(), STDOUT_FILENO);
    if (errors) posix_spawn_file_actions_adddup2(&actions, errors.get(), STDERR_FILENO);
    if (channel) posix_spawn_file_actions_adddup2(&actions, channel.get(), channel_descriptor);
    posix_spawn_file_actions_addclosefrom_np(&actions, channel ? channel_descriptor + 1 : channel_descriptor);

    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

    std::vector<std::string> words{spec.program.string()};
    words.insert(words.end(), spec.arguments.begin(), spec.arguments.end());
    std::vector<std::string> settings = spec.environment;
    pid_t pid = 0;
    const int status = ::posix_spawnp(&pid, words[0].c_str(), &actions, &attributes, pointers(words).data(), pointers(settings).data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (status != 0) {
        errno = status;
        throw system_failure(spec.program.string() + ": cannot be started");
    }
    Process process{pid};
    process.handle_ = Descriptor{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
    if (!process.handle_)
        throw system_failure("cannot watch process " + std::to_string(pid) + (errno == ENOSYS ? " (hpo needs Linux 5.3 or later)" : ""));
    return process;
}

HPO_INLINE Process::~Process() {
    if (pid_ == 0 || exit_) return;
    signal(SIGKILL);
    static_cast<void>(wait());
}

HPO_INLINE int Process::handle() const noexcept { return handle_.get(); }

HPO_INLINE void Process::signal(int number) noexcept {
    if (exit_) return;
    ::kill(-pid_, number);
    ::kill(pid_, number);
}

HPO_INLINE std::optional<ProcessExit> Process::wait(std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (!exit()) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
        if (left.count() <= 0) break;
        ::pollfd entry{handle_.get(), POLLIN, 0};
        ::poll(&entry, 1, static_cast<int>(left.count()));
    }
    return exit_;
}

HPO_INLINE void Process::reap(int flags) {
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

HPO_INLINE Descriptor Process::lifted(int number) {
    if (number < 0) return {};
    Descriptor copy{::fcntl(number, F_DUPFD_CLOEXEC, 16)};
    if (!copy) throw system_failure("cannot copy a descriptor");
    return copy;
}

HPO_INLINE std::vector<char*> Process::pointers(std::vector<std::string>& words) {
    std::vector<char*> result;
    for (std::string& word : words) result.push_back(word.data());
    result.push_back(nullptr);
    return result;
}

}  // namespace hpo::worker::supervisor
