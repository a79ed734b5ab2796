// SPDX-License-Identifier: MIT
#pragma once

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <map>
#include <string>

#include "hpo/base/process_identity.hpp"
#include "hpo/base/time.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/store/store.hpp"

namespace hpo::store {

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

/// How old the heartbeat of a run on another host may be.
inline constexpr double heartbeat_grace_seconds = 60;

/// True if a run of this host is over: it said so, or its process is dead. A zombie counts as dead. So does a pid that now belongs to
/// another process.
[[nodiscard]] inline bool is_gone_here(const Run& run) {
    if (run.ended) return true;
    if (const auto process = process_state(run.pid)) {
        if (process->is_dead()) return true;
        return !run.started_ticks.empty() && std::to_string(process->start_ticks) != run.started_ticks;
    }
    return kill(static_cast<pid_t>(run.pid), 0) != 0 && errno == ESRCH;  // /proc may hide other users' processes
}

/// True if the run is over: is_gone_here, or its heartbeat on another host is older than `grace_seconds`. This goes by the clocks of both
/// hosts. A reader that looks once has nothing better.
[[nodiscard]] inline bool is_gone(const Run& run, Time at, double grace_seconds) {
    if (run.ended || run.host == host_name()) return is_gone_here(run);
    return seconds_between(run.heartbeat, at) > grace_seconds;
}

/// Watches the runs of other hosts. Such a run is gone if its heartbeat has not changed for `grace_seconds` since this object saw it first.
/// Only this process's monotonic clock counts. So a clock that is set, a clock that differs, and a machine that slept end no living run.
class RunWatch {
public:
    [[nodiscard]] bool is_gone(const Run& run, double grace_seconds) {
        if (run.ended || run.host == host_name()) return is_gone_here(run);
        const auto [seen, is_new] = seen_.try_emplace(run.id, Seen{run.heartbeat});
        if (!is_new && seen->second.heartbeat != run.heartbeat) seen->second = Seen{run.heartbeat};
        return seen->second.since.seconds() > grace_seconds;
    }

private:
    struct Seen {
        Time heartbeat;
        Stopwatch since{};
    };
    std::map<std::int64_t, Seen> seen_;  ///< by run id
};

}  // namespace hpo::store
