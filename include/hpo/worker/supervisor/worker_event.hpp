// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "hpo/trainer/executor.hpp"
#include "hpo/worker/protocol.hpp"

namespace hpo::worker {

struct TrialStarted {
    std::int64_t worker_pid;
};

/// What a worker said of its trial, kept until the pool's `wait` or `submit` may deliver it.
struct WorkerEvent {
    std::int64_t trial;
    std::variant<TrialStarted, Report, Asked, MemoryMark, Checkpointed, AttemptOutcome> what;
};

/// What an event says about the trial that its worker runs. Returns nullopt if it ends the trial, or is not about the trial.
[[nodiscard]] inline std::optional<WorkerEvent> worker_event_of(std::int64_t trial, std::int64_t worker_pid, Event& event) {
    if (std::holds_alternative<Started>(event)) return WorkerEvent{trial, TrialStarted{worker_pid}};
    if (const auto* reported = std::get_if<Reported>(&event)) return WorkerEvent{trial, reported->report};
    if (auto* asked = std::get_if<Asked>(&event)) return WorkerEvent{trial, std::move(*asked)};
    if (auto* measured = std::get_if<Measured>(&event)) return WorkerEvent{trial, std::move(measured->mark)};
    if (const auto* kept = std::get_if<Checkpointed>(&event)) return WorkerEvent{trial, *kept};
    return std::nullopt;
}

/// Passes on an event that needs no answer: any event except a report and a question for a parameter.
inline void tell(ExecutorEvents& events, WorkerEvent& worker_event) {
    const std::int64_t trial = worker_event.trial;
    if (const auto* started = std::get_if<TrialStarted>(&worker_event.what)) events.on_started(trial, started->worker_pid);
    else if (const auto* mark = std::get_if<MemoryMark>(&worker_event.what)) events.on_memory(trial, *mark);
    else if (const auto* kept = std::get_if<Checkpointed>(&worker_event.what)) events.on_checkpoint(trial, kept->step);
    else if (auto* outcome = std::get_if<AttemptOutcome>(&worker_event.what)) events.on_end(trial, std::move(*outcome));
}

}  // namespace hpo::worker
