// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/worker/descriptor.hpp"
#include "hpo/worker/environment.hpp"
#include "pipes.hpp"

namespace hpo::command {

/// How a program ended.
struct ProgramEnd {
    std::optional<int> status;  ///< its exit status
    std::optional<int> signal;  ///< or the signal that ended it
    /// Bytes: the largest peak of the program and of the children that it waited for. The kernel counts from the fork, so of a program
    /// that is started it is at least what the worker was then.
    std::optional<std::int64_t> peak_resident{};
    double idle_seconds = 0;         ///< since its end, when `wait` returned: this process may have waited for somebody else meanwhile
    bool keeper_was_killed = false;  ///< somebody killed the keeper, so the program was ended; neither status nor signal is known
    bool was_orphaned = false;       ///< the keeper ended this copy, because the program that it is a copy of has gone
};

/// What is started.
struct ProgramStart {
    std::vector<std::string> words;        ///< the program, which is looked for in PATH, and its arguments
    hpo::worker::Environment environment;  ///< of the program. HPO_REPORT_FD and HPO_ANSWER_FD are added
    std::string fork_socket{};             ///< of a program that runs already and forks (fork_request.hpp); empty: the words are started
};

/// A program that cannot outlive this object or this process, nor can anything that it starts. A keeper, a small process between the two,
/// sees to that. It is a child of this process, or of a program that forks (ProgramStart::fork_socket). It adopts every descendant whose
/// parent ends (PR_SET_CHILD_SUBREAPER), also one in a session of its own. Once the program ends, or this process does, it kills all of
/// them. The program is in a process group and a session of its own.
///
/// Thread safety: one thread at a time.
class KeptProgram {
public:
    /// Throws hpo::Error if the program cannot be started.
    explicit KeptProgram(const ProgramStart& start);
    KeptProgram(const KeptProgram&) = delete;
    KeptProgram& operator=(const KeptProgram&) = delete;
    /// Ends the program and all that it started, at once.
    ~KeptProgram();

    /// @name For reading; they do not block
    /// @{
    [[nodiscard]] int output() const noexcept { return output_.get(); }
    [[nodiscard]] int error_output() const noexcept { return error_output_.get(); }
    [[nodiscard]] int reports() const noexcept { return reports_.get(); }
    /// Can be read once the program has ended.
    [[nodiscard]] int ended() const noexcept { return news_.get(); }
    /// @}

    /// Writes a line to the program's HPO_ANSWER_FD. It is lost if the program does not read.
    void answer(const std::string& line) noexcept;
    /// Sends a signal to the program's process group.
    void signal(int number) const noexcept;
    /// The process whose descendants are the program and all that it starts.
    [[nodiscard]] pid_t keeper() const noexcept { return keeper_; }
    /// The process that is a copy of a running program, if it is one.
    [[nodiscard]] std::optional<pid_t> copy() const { return is_forked_ ? std::optional{program_} : std::nullopt; }
    /// Waits until the program and all that it started are gone. Kills what is left.
    [[nodiscard]] ProgramEnd wait();

private:
    void start(const ProgramStart& start);
    void fork_from(const ProgramStart& start);
    /// Takes this process's ends, and closes the others.
    void take(Pipes& pipes);
    /// Waits until the keeper is gone, after life_ was closed.
    void await_keeper() noexcept;

    hpo::worker::Descriptor output_, error_output_, reports_, answers_;
    hpo::worker::Descriptor news_;  ///< what the keeper tells
    hpo::worker::Descriptor life_;  ///< closed: the keeper ends all
    pid_t keeper_ = -1;
    bool is_forked_ = false;  ///< the keeper is no child of this process
    pid_t program_ = -1;
};

}  // namespace hpo::command
