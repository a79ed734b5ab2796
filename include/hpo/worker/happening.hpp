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
struct Happening {
    std::int64_t trial;
    std::variant<TrialStarted, Report, MemoryMark, Checkpointed, AttemptOutcome> what;
};

/// What an event says of the trial that its worker is at; nothing: it ends it, or is no word about it.
[[nodiscard]] inline std::optional<Happening> happening_of(std::int64_t trial, std::int64_t worker_pid, Event& event) {
    if (std::holds_alternative<Started>(event)) return Happening{trial, TrialStarted{worker_pid}};
    if (const auto* reported = std::get_if<Reported>(&event)) return Happening{trial, reported->report};
    if (auto* measured = std::get_if<Measured>(&event)) return Happening{trial, std::move(measured->mark)};
    if (const auto* kept = std::get_if<Checkpointed>(&event)) return Happening{trial, *kept};
    return std::nullopt;
}

/// Hands on what needs no answer: everything but a report.
inline void tell(ExecutorEvents& events, Happening& happening) {
    const std::int64_t trial = happening.trial;
    if (const auto* started = std::get_if<TrialStarted>(&happening.what)) events.on_started(trial, started->worker_pid);
    else if (const auto* mark = std::get_if<MemoryMark>(&happening.what)) events.on_memory(trial, *mark);
    else if (const auto* kept = std::get_if<Checkpointed>(&happening.what)) events.on_checkpoint(trial, kept->step);
    else if (auto* outcome = std::get_if<AttemptOutcome>(&happening.what)) events.on_end(trial, std::move(*outcome));
}

}  // namespace hpo::worker
