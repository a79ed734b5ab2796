// SPDX-License-Identifier: MIT
#pragma once

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "hpo/base/process_identity.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/store/store.hpp"

namespace hpo::store::inline sqlite {

[[nodiscard]] inline std::string host_name() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
    return name.data();
}

/// `run` with its empty members (host, process, start time) filled in for the calling process.
[[nodiscard]] inline Run identified(Run run) {
    if (run.host.empty()) run.host = host_name();
    if (run.pid == 0) run.pid = getpid();
    if (run.started_ticks.empty() && run.host == host_name()) {
        if (const auto process = process_state(run.pid)) run.started_ticks = std::to_string(process->start_ticks);
    }
    return run;
}

/// A stored run with its last sign of life.
struct KnownRun {
    Run run;
    Time heartbeat{};
    bool ended = false;
};

/// How old the heartbeat of a run on another host may be.
inline constexpr double heartbeat_grace_seconds = 60;

/// True if the run is over: it said so, or its process on this host is dead, or its heartbeat on another host is older than
/// `grace_seconds`. A zombie counts as dead. So does a pid that now belongs to another process.
[[nodiscard]] inline bool is_gone(const KnownRun& known, Time at, double grace_seconds) {
    if (known.ended) return true;
    if (known.run.host != host_name()) return seconds_between(known.heartbeat, at) > grace_seconds;
    if (const auto process = process_state(known.run.pid)) {
        if (process->is_dead()) return true;
        return !known.run.started_ticks.empty() && std::to_string(process->start_ticks) != known.run.started_ticks;
    }
    return kill(static_cast<pid_t>(known.run.pid), 0) != 0 && errno == ESRCH;  // /proc may hide other users' processes
}

}  // namespace hpo::store::sqlite
