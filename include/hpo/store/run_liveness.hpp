// SPDX-License-Identifier: MIT
#pragma once

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "hpo/core/process_identity.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/store/store.hpp"

namespace hpo::store {

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
        if (const auto process = process_state(run.pid)) run.started_ticks = std::to_string(process->start_ticks);
    }
    return run;
}

/// A run as stored, with its last sign of life.
struct KnownRun {
    Run run;
    Time heartbeat{};
    bool ended = false;
};

/// How old the heartbeat of a run on another host may be.
inline constexpr double heartbeat_grace_seconds = 60;

/// True when nobody works for the run any more: it said so, its process on this host is dead (a zombie, or a pid that now
/// belongs to another process, counts as dead), or, on another host, its heartbeat is older than `grace_seconds`.
[[nodiscard]] inline bool is_gone(const KnownRun& known, Time at, double grace_seconds) {
    if (known.ended) return true;
    if (known.run.host != host_name()) return seconds_between(known.heartbeat, at) > grace_seconds;
    if (const auto process = process_state(known.run.pid)) {
        if (process->is_dead()) return true;
        return !known.run.started_ticks.empty() && std::to_string(process->start_ticks) != known.run.started_ticks;
    }
    return kill(static_cast<pid_t>(known.run.pid), 0) != 0 && errno == ESRCH;  // /proc may hide other users' processes
}

}  // namespace hpo::store
