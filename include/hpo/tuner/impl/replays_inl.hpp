// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "hpo/base/inline.hpp"
#include "hpo/failure/failure_line.hpp"
#include "hpo/failure/signature.hpp"
#include "hpo/tuner/attempt_job.hpp"
#include "hpo/tuner/replays.hpp"

namespace hpo::tuner {

HPO_INLINE void Replays::see(const Trial& trial, const Attempt& attempt, const Executor& executor, std::optional<std::int64_t> reserved) {
    if (!attempt.failure || attempt.failure->kind != FailureKind::cuda_sticky || !executor.can_block_launches()) return;
    if (!seen_.insert(signature(*attempt.failure)).second) return;
    const std::int64_t number = -1 - static_cast<std::int64_t>(seen_.size());
    Job job = job_of(books_.study(), trial, reserved, options_);
    job.trial = number;
    job.fresh_worker = true;
    job.blocks_launches = true;
    job.most_seconds = 60 + 3 * attempt.seconds.value_or(0);
    job.checkpoint_folder.clear();  // it is not gone on with
    job.resume_step.reset();
    job.model_folder.clear();
    Attempt again;
    again.plan = attempt.plan;
    again.estimate = attempt.estimate;
    waiting_.push_back(Replay{.job = std::move(job),
                              .waiting = {.number = number, .attempt = std::move(again), .fresh_worker = true},
                              .trial = trial.number,
                              .attempt = attempt.index});
}

HPO_INLINE std::optional<WaitingAttempt> Replays::next() {
    if (waiting_.empty()) return std::nullopt;
    Replay replay = std::move(waiting_.front());
    waiting_.pop_front();
    WaitingAttempt waiting = replay.waiting;
    running_.emplace(waiting.number, std::move(replay));
    return waiting;
}

HPO_INLINE void Replays::end(std::int64_t number, const AttemptOutcome& outcome) {
    const Replay replay = running_.extract(number).mapped();
    if (outcome.kind == OutcomeKind::interrupted) return;
    const Trial& trial = books_.trial(replay.trial);
    const std::string told = outcome.failure ? failure_line(*outcome.failure) : "the failure did not come again";
    const std::string before = books_.store().log(trial, replay.attempt);
    std::string text = before.empty() || before.ends_with('\n') ? "" : "\n";
    text += "--- once more, with kernel launches that block: " + told + "\n" + outcome.log;
    if (outcome.failure && outcome.log.empty()) text += outcome.failure->traceback;
    books_.store().add_to_log(trial, replay.attempt, text);
    observer_.replayed(trial, told);
}

}  // namespace hpo::tuner
