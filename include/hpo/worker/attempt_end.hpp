// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>

#include "hpo/core/error.hpp"
#include "hpo/core/failure.hpp"
#include "hpo/core/outcome.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/worker/process.hpp"
#include "hpo/worker/seat.hpp"

namespace hpo::worker {

/// How a worker left, as far as its supervisor saw it.
struct Death {
    ProcessExit exit;
    std::string complaint;  ///< why the supervisor ended it, or what it said before it left; empty: it ended by itself
    std::string last_words;
    bool host_memory_was_short = false;
    bool was_signalled = false;  ///< by its supervisor
};

/// The failure of the attempt that died with its worker.
[[nodiscard]] inline Failure explain_death(const Death& death) {
    Failure failure;
    if (death.complaint.empty()) {
        failure = classify_exit({.exit_status = death.exit.status,
                                 .signal = death.exit.signal,
                                 .last_words = death.last_words,
                                 .host_memory_was_short = death.host_memory_was_short});
    } else {
        failure.kind = FailureKind::lost_worker;
        failure.message = death.complaint;
        failure.signal = death.exit.signal;
        failure.exit_status = death.exit.status;
    }
    failure.traceback = death.last_words;
    return failure;
}

/// The error of a pool whose first worker died before it was ready.
[[nodiscard]] inline Error cannot_start(const std::string& trainer, const Failure& death) {
    const std::string why = death.message + (death.traceback.empty() ? "" : "\n" + death.traceback);
    return Error{Errc::plugin, death.kind == FailureKind::lost_worker ? why : "trainer " + trainer + ": " + why};
}

/// The outcome of an attempt whose worker died.
[[nodiscard]] inline AttemptOutcome outcome_of_death(const Running& running, const Death& death) {
    AttemptOutcome outcome;
    outcome.seconds = running.watch.seconds();
    if (running.interrupted) outcome.kind = OutcomeKind::interrupted;
    else if (running.stop_asked && death.was_signalled && death.complaint.empty()) outcome.kind = OutcomeKind::stopped;  // too slow to obey
    else outcome.failure = explain_death(death);
    return outcome;
}

/// The outcome that a trainer gave, held against what it was asked.
[[nodiscard]] inline AttemptOutcome checked_outcome(const Running& running, AttemptOutcome outcome) {
    const auto fail = [&](std::string message) {
        outcome.kind = OutcomeKind::failed;
        outcome.failure = Failure{.kind = FailureKind::trainer_error, .message = std::move(message)};
    };
    if (outcome.kind == OutcomeKind::stopped && running.interrupted) outcome.kind = OutcomeKind::interrupted;
    if (outcome.kind == OutcomeKind::stopped && !running.stop_asked) fail("the trainer stopped without being asked to");
    if (outcome.kind == OutcomeKind::complete && outcome.values.empty()) fail("the trainer completed without a value");
    if (outcome.kind == OutcomeKind::failed && !outcome.failure) fail("the trainer failed and did not say how");
    return outcome;
}

}  // namespace hpo::worker
