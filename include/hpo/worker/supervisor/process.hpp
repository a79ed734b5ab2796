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

/// How a process ended. One of the two members is set.
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
    std::filesystem::path program;         ///< without a slash it is looked for in PATH
    std::vector<std::string> arguments;    ///< without the program's name
    std::vector<std::string> environment;  ///< all of it, NAME=VALUE
    int channel = -1;                      ///< becomes descriptor 3 of the process
    int output = -1;                       ///< becomes its standard output; -1: shared with ours
    int errors = -1;                       ///< becomes its standard error; -1: shared with ours
};

/// The descriptor under which a process finds its channel.
inline constexpr int channel_descriptor = 3;

/// A child process in a process group of its own. The destructor kills and reaps it. Its standard input is empty, and it inherits only the
/// descriptors of the spec. Needs Linux 5.3 or later.
///
/// Design note: it uses spawn() and a pidfd. So this process does not fork, which a CUDA context would not survive. It also needs no
/// handler of SIGCHLD, so a program can have its own.
class Process {
public:
    /// Throws Error{plugin} if the program cannot be started.
    [[nodiscard]] static Process start(const ProcessSpec& spec);

    Process(Process&& other) noexcept
        : pid_{std::exchange(other.pid_, 0)}, handle_{std::move(other.handle_)}, exit_{std::exchange(other.exit_, std::nullopt)} {}
    Process& operator=(Process&&) = delete;
    ~Process();

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    /// A descriptor for poll and epoll. It is readable once the process has ended.
    [[nodiscard]] int handle() const noexcept;

    /// Sends a signal to the process and to its whole group. Does nothing once the process is reaped.
    void signal(int number) noexcept;

    /// How it ended. Returns nullopt while it runs. Once it has ended, the rest of its group is killed.
    [[nodiscard]] std::optional<ProcessExit> exit() {
        if (!exit_) reap(WNOHANG);
        return exit_;
    }
    /// Waits until it has ended.
    ProcessExit wait() {
        while (!exit_) reap(0);
        return *exit_;
    }
    /// Waits until it has ended, for at most `timeout`. Returns nullopt if it still runs then.
    std::optional<ProcessExit> wait(std::chrono::milliseconds timeout);

private:
    explicit Process(pid_t pid) : pid_{pid} {}

    void reap(int flags);

    pid_t pid_ = 0;
    Descriptor handle_;
    std::optional<ProcessExit> exit_;
};

}  // namespace hpo::worker
