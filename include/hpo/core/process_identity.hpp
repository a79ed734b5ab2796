// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>

namespace hpo {

/// What /proc says about a process of this host.
struct ProcessState {
    char state = '?';               ///< R, S, D, Z (dead, its parent has not looked yet), X, ...
    std::uint64_t start_ticks = 0;  ///< when it began, in clock ticks since the machine started
    [[nodiscard]] bool is_dead() const { return state == 'Z' || state == 'X'; }
};

/// Nothing when there is no such process, or when /proc does not show it.
[[nodiscard]] inline std::optional<ProcessState> process_state(std::int64_t pid) {
    std::ifstream file{"/proc/" + std::to_string(pid) + "/stat"};
    const std::string text{std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
    const auto name_end = text.rfind(')');  // the name in parentheses may hold spaces and parentheses itself
    if (name_end == std::string::npos) return std::nullopt;
    std::istringstream fields{text.substr(name_end + 1)};
    ProcessState process;
    std::string skipped;
    fields >> process.state;
    for (int field = 4; field < 22; ++field) fields >> skipped;
    if (!(fields >> process.start_ticks)) return std::nullopt;
    return process;
}

/// A process that no later one can be mistaken for: its id, and when it began.
struct ProcessIdentity {
    std::int64_t pid = 0;
    std::uint64_t start_ticks = 0;
    friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

/// The living process that has this id now; nothing when there is none, or only a dead one.
[[nodiscard]] inline std::optional<ProcessIdentity> identify_process(std::int64_t pid) {
    const auto process = process_state(pid);
    if (!process || process->is_dead()) return std::nullopt;
    return ProcessIdentity{pid, process->start_ticks};
}

[[nodiscard]] inline bool is_alive(const ProcessIdentity& process) { return identify_process(process.pid) == process; }

[[nodiscard]] inline ProcessIdentity this_process() { return identify_process(::getpid()).value_or(ProcessIdentity{::getpid(), 0}); }

}  // namespace hpo
