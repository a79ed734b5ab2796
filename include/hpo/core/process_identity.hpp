// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <optional>

namespace hpo {

/// What /proc says about a process of this host.
struct ProcessState {
    char state = '?';               ///< R, S, D, Z (dead, its parent has not looked yet), X, ...
    std::uint64_t start_ticks = 0;  ///< when it began, in clock ticks since the machine started
    [[nodiscard]] bool is_dead() const { return state == 'Z' || state == 'X'; }
};

/// The answer to a question about a process. That it cannot be asked, as with too many files open, says nothing about the process.
struct ProcessAnswer {
    std::optional<ProcessState> state;
    bool is_missing = false;  ///< /proc shows no such process
};

[[nodiscard]] ProcessAnswer ask_about_process(std::int64_t pid);

/// Nothing when there is no such process, when /proc does not show it, or when it cannot be asked.
[[nodiscard]] inline std::optional<ProcessState> process_state(std::int64_t pid) { return ask_about_process(pid).state; }

/// A process that no later one can be mistaken for: its id, and when it began.
struct ProcessIdentity {
    std::int64_t pid = 0;
    std::uint64_t start_ticks = 0;  ///< 0: not known
    friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

/// The living process that has this id now; nothing when there is none, only a dead one, or when it cannot be asked.
[[nodiscard]] std::optional<ProcessIdentity> identify_process(std::int64_t pid);

/// False only for what is known to be dead: what it holds is taken away from it.
[[nodiscard]] bool is_alive(const ProcessIdentity& process);

/// Tells apart the spaces in which the ids of processes mean something: the host's, each container's. 0: not known.
[[nodiscard]] inline std::uint64_t process_id_space() {
    struct ::stat status {};
    return ::stat("/proc/self/ns/pid", &status) == 0 ? static_cast<std::uint64_t>(status.st_ino) : 0;
}

[[nodiscard]] inline ProcessIdentity this_process() { return identify_process(::getpid()).value_or(ProcessIdentity{::getpid(), 0}); }

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/core/impl/process_identity_inl.hpp"
#endif
