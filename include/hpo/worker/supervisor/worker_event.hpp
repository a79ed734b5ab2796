// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "hpo/trainer/attempt_event.hpp"
#include "hpo/worker/protocol.hpp"

namespace hpo::worker {

/// What a worker said of its trial, kept until the pool's `wait` or `submit` may deliver it.
struct WorkerEvent {
    std::int64_t trial;
    AttemptEvent what;
};

/// What a message says about the trial that its worker runs. Returns nullopt if it ends the trial, or is not about the trial.
[[nodiscard]] inline std::optional<WorkerEvent> worker_event_of(std::int64_t trial, std::int64_t worker_pid, Event& event) {
    if (std::holds_alternative<Started>(event)) return WorkerEvent{trial, AttemptStarted{worker_pid}};
    if (auto* reported = std::get_if<Reported>(&event)) return WorkerEvent{trial, reported->report};
    if (auto* asked = std::get_if<Asked>(&event))
        return WorkerEvent{trial, Question{std::move(asked->name), std::move(asked->distribution)}};
    if (auto* measured = std::get_if<Measured>(&event)) return WorkerEvent{trial, std::move(measured->mark)};
    if (auto* checkpointed = std::get_if<Checkpointed>(&event)) return WorkerEvent{trial, Checkpoint{checkpointed->step}};
    return std::nullopt;
}

}  // namespace hpo::worker
