// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/worker/descriptor.hpp"

namespace hpo::worker {

/// How a process ended: one of the two.
struct ProcessExit {
    std::optional<int> status;
    std::optional<int> signal;
};

/// "status 3", "signal 11".
[[nodiscard]] inline std::string exit_text(const ProcessExit& exit) {
    if (exit.status) return "status " + std::to_string(*exit.status);
    return exit.signal ? "signal " + std::to_string(*exit.signal) : "gone";
}

/// "60 s", "0.5 s".
[[nodiscard]] std::string seconds_text(std::chrono::milliseconds time);

struct ProcessSpec {
    std::filesystem::path program;
    std::vector<std::string> arguments;    ///< without the program's name
    std::vector<std::string> environment;  ///< all of it, NAME=VALUE
    int channel = -1;                      ///< becomes descriptor 3 of the process
    int output = -1;                       ///< becomes its standard output; -1: shared with ours
    int errors = -1;                       ///< becomes its standard error; -1: shared with ours
};

/// The descriptor under which a process finds its channel.
inline constexpr int channel_descriptor = 3;

/// A child process with a process group of its own; killed and reaped when this ends. Its standard input is empty and
/// no descriptor passes to it but those of the spec. Linux 5.3 or later.
///
/// Design note: posix_spawn and a pidfd. Nothing is forked (a CUDA context would not survive it), and no handler of
/// SIGCHLD is needed, so a program that has its own keeps it.
class Process {
public:
    /// Throws Error{plugin} when the program cannot be started.
    [[nodiscard]] static Process start(const ProcessSpec& spec);

    Process(Process&& other) noexcept
        : pid_{std::exchange(other.pid_, 0)}, handle_{std::move(other.handle_)}, exit_{std::exchange(other.exit_, std::nullopt)} {}
    Process& operator=(Process&&) = delete;
    ~Process();

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    /// Readable once the process has ended; for poll and epoll.
    [[nodiscard]] int handle() const noexcept;

    /// Sends a signal to the process and to all of its group. Nothing happens once it is reaped.
    void signal(int number) noexcept;

    /// How it ended, or nothing while it runs. What is left of its group is killed when it has ended.
    [[nodiscard]] std::optional<ProcessExit> exit() {
        if (!exit_) reap(WNOHANG);
        return exit_;
    }
    /// Waits for its end.
    ProcessExit wait() {
        while (!exit_) reap(0);
        return *exit_;
    }
    /// Waits for its end, but not longer than `timeout`.
    std::optional<ProcessExit> wait(std::chrono::milliseconds timeout);

private:
    explicit Process(pid_t pid) : pid_{pid} {}

    void reap(int flags);

    /// A copy above the numbers that the process will use, so that no dup2 overwrites the source of a later one.
    static Descriptor lifted(int number);
    static std::vector<char*> pointers(std::vector<std::string>& words);

    pid_t pid_ = 0;
    Descriptor handle_;
    std::optional<ProcessExit> exit_;
};

}  // namespace hpo::worker

#ifndef HPO_COMPILED
#include "hpo/worker/impl/process_inl.hpp"
#endif
