// SPDX-License-Identifier: MIT
#include "hpo/worker/supervisor/attempt_end.hpp"

#include <string>
#include <utility>

#include "hpo/failure/classify.hpp"

namespace hpo::worker {

Failure explain_death(const Death& death) {
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

AttemptOutcome outcome_of_death(const Running& running, const Death& death) {
    AttemptOutcome outcome;
    outcome.seconds = death.seconds;
    if (running.interrupted) outcome.kind = OutcomeKind::interrupted;
    else if (!running.overdue.empty()) outcome.failure = Failure{.kind = FailureKind::timeout, .message = running.overdue};
    else if (running.stop_asked && death.was_signalled && death.complaint.empty())
        outcome.kind = OutcomeKind::stopped;  // it obeyed too slowly
    else outcome.failure = explain_death(death);
    return outcome;
}

AttemptOutcome checked_outcome(const Running& running, AttemptOutcome outcome) {
    const auto fail = [&](std::string message) {
        outcome.kind = OutcomeKind::failed;
        outcome.failure = Failure{.kind = FailureKind::trainer_error, .message = std::move(message)};
    };
    if (outcome.kind == OutcomeKind::stopped && running.interrupted) outcome.kind = OutcomeKind::interrupted;
    if (outcome.kind != OutcomeKind::complete && outcome.kind != OutcomeKind::interrupted && !running.overdue.empty()) {
        outcome.kind = OutcomeKind::failed;
        outcome.failure = Failure{.kind = FailureKind::timeout, .message = running.overdue};
    }
    if (outcome.kind == OutcomeKind::stopped && !running.stop_asked && !outcome.prunes_itself)
        fail("the trainer stopped without being asked to");
    if (outcome.kind == OutcomeKind::complete && outcome.values.empty()) fail("the trainer completed without a value");
    if (outcome.kind == OutcomeKind::failed && !outcome.failure) fail("the trainer failed and did not say how");
    return outcome;
}

}  // namespace hpo::worker
