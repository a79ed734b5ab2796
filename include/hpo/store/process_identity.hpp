// SPDX-License-Identifier: MIT
#pragma once

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>

#include "hpo/core/trial.hpp"
#include "hpo/store/store.hpp"

namespace hpo::store {

/// What /proc says about a process of this host.
struct ProcessState {
    char state = '?';     ///< R, S, D, Z, ...
    std::string started;  ///< clock ticks after boot: field 22 of /proc/PID/stat
};

/// Nothing when there is no such process, or when /proc does not show it.
[[nodiscard]] inline std::optional<ProcessState> process_state(std::int64_t pid) {
    std::ifstream file{"/proc/" + std::to_string(pid) + "/stat"};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    const auto name_end = text.rfind(')');  // the name may hold spaces and brackets
    if (name_end == std::string::npos) return std::nullopt;
    std::istringstream fields{text.substr(name_end + 1)};
    ProcessState process;
    std::string skipped;
    fields >> process.state;
    for (int field = 4; field < 22; ++field) fields >> skipped;
    if (!(fields >> process.started)) return std::nullopt;
    return process;
}

[[nodiscard]] inline std::string host_name() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
    return name.data();
}

/// `run` with what it leaves open (host, process, start time) filled in for the calling process.
[[nodiscard]] inline Run identified(Run run) {
    if (run.host.empty()) run.host = host_name();
    if (run.pid == 0) run.pid = getpid();
    if (run.started_ticks.empty() && run.host == host_name()) {
        if (const auto process = process_state(run.pid)) run.started_ticks = process->started;
    }
    return run;
}

/// A run as stored, with its last sign of life.
struct KnownRun {
    Run run;
    Time heartbeat{};
    bool ended = false;
};

/// True when nobody works for the run any more: it said so, its process on this host is dead (a zombie, or a pid that now
/// belongs to another process, counts as dead), or, on another host, its heartbeat is older than `grace_seconds`.
[[nodiscard]] inline bool is_gone(const KnownRun& known, Time at, double grace_seconds) {
    if (known.ended) return true;
    if (known.run.host != host_name()) return std::chrono::duration<double>(at - known.heartbeat).count() > grace_seconds;
    if (const auto process = process_state(known.run.pid)) {
        if (process->state == 'Z' || process->state == 'X') return true;
        return !known.run.started_ticks.empty() && process->started != known.run.started_ticks;
    }
    return kill(static_cast<pid_t>(known.run.pid), 0) != 0 && errno == ESRCH;  // /proc may hide other users' processes
}

}  // namespace hpo::store
