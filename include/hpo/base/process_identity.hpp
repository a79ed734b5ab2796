// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <optional>

namespace hpo {

/// What /proc says about a process of this host.
struct ProcessState {
    char state = '?';               ///< R, S, D, Z (dead, but its parent has not waited for it), X, ...
    std::uint64_t start_ticks = 0;  ///< when it began, in clock ticks since the machine started
    [[nodiscard]] bool is_dead() const { return state == 'Z' || state == 'X'; }
};

/// The answer to a question about a process. With `state` empty and `is_missing` false, the question could not be asked, for example
/// because too many files are open. This says nothing about the process.
struct ProcessAnswer {
    std::optional<ProcessState> state;
    bool is_missing = false;  ///< /proc shows no such process
};

[[nodiscard]] ProcessAnswer ask_about_process(std::int64_t pid);

/// Returns nullopt if there is no such process, if /proc does not show it, or if it cannot be asked.
[[nodiscard]] inline std::optional<ProcessState> process_state(std::int64_t pid) { return ask_about_process(pid).state; }

/// Identifies a process by its id and its start time, so that a later process with the same id is not mistaken for it.
struct ProcessIdentity {
    std::int64_t pid = 0;
    std::uint64_t start_ticks = 0;  ///< 0: unknown
    friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

/// The living process that has this id now. Returns nullopt if there is none, if it is dead, or if it cannot be asked.
[[nodiscard]] std::optional<ProcessIdentity> identify_process(std::int64_t pid);

/// False only if the process is known to be dead: the caller may then take away what it holds.
[[nodiscard]] bool is_alive(const ProcessIdentity& process);

/// A number for the namespace in which process ids are valid: the host's, or a container's. 0: unknown.
[[nodiscard]] inline std::uint64_t process_id_space() {
    struct ::stat status {};
    return ::stat("/proc/self/ns/pid", &status) == 0 ? static_cast<std::uint64_t>(status.st_ino) : 0;
}

[[nodiscard]] inline ProcessIdentity this_process() { return identify_process(::getpid()).value_or(ProcessIdentity{::getpid(), 0}); }

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/base/impl/process_identity_inl.hpp"
#endif
