// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hpo/failure/failure_line.hpp"
#include "hpo/failure/signature.hpp"
#include "hpo/trainer/executor.hpp"
#include "hpo/tuner/attempt_job.hpp"
#include "hpo/tuner/bookkeeping.hpp"
#include "hpo/tuner/devices/attempt_reservations.hpp"
#include "hpo/tuner/options.hpp"
#include "hpo/tuner/study_event.hpp"

namespace hpo::tuner {

/// Runs an attempt once more that met a sticky CUDA error, with kernel launches that block. A kernel's error is otherwise told at a later
/// call. Now it is told at the launch, so the message names the kernel and the line. There is one replay for each signature of failures. It
/// may take three times as long as the failed attempt, and a minute more. It is no attempt: the trial has its verdict already, and only the
/// log of the failed attempt grows.
///
/// Thread safety: none.
class Replays {
public:
    Replays(Bookkeeping& books, const TuneOptions& options, TuneObserver& observer)
        : books_{books}, options_{options}, observer_{observer} {}

    /// True for the number under which an executor runs a replay.
    [[nodiscard]] static bool is_replay(std::int64_t number) { return number < 0; }

    /// Call it for each failed attempt before it is answered. `reserved` are the bytes that were reserved for it.
    void see(const Trial& trial, const Attempt& attempt, const Executor& executor, std::optional<std::int64_t> reserved);
    /// The oldest replay that was not started yet.
    [[nodiscard]] std::optional<WaitingAttempt> next();
    [[nodiscard]] Job job(std::int64_t number) const { return running_.at(number).job; }
    /// Keeps what a replay told in the log of the failed attempt.
    void end(std::int64_t number, const AttemptOutcome& outcome);
    /// True if one was started and has not ended.
    [[nodiscard]] bool any_running() const noexcept { return !running_.empty(); }
    void drop_waiting() { waiting_.clear(); }
    /// Gives up those of attempts that will not start on their device. Returns the others.
    [[nodiscard]] std::vector<WaitingAttempt> drop_from(std::vector<WaitingAttempt> waiting) {
        std::erase_if(waiting, [&](const WaitingAttempt& each) { return is_replay(each.number) && running_.erase(each.number) > 0; });
        return waiting;
    }

private:
    struct Replay {
        Job job;
        WaitingAttempt waiting;
        std::int64_t trial = 0;
        int attempt = 0;
    };

    Bookkeeping& books_;
    const TuneOptions& options_;
    TuneObserver& observer_;
    std::set<std::string> seen_;  ///< signatures
    std::deque<Replay> waiting_;
    std::map<std::int64_t, Replay> running_;
};

inline void Replays::see(const Trial& trial, const Attempt& attempt, const Executor& executor, std::optional<std::int64_t> reserved) {
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

inline std::optional<WaitingAttempt> Replays::next() {
    if (waiting_.empty()) return std::nullopt;
    Replay replay = std::move(waiting_.front());
    waiting_.pop_front();
    WaitingAttempt waiting = replay.waiting;
    running_.emplace(waiting.number, std::move(replay));
    return waiting;
}

inline void Replays::end(std::int64_t number, const AttemptOutcome& outcome) {
    const Replay replay = running_.extract(number).mapped();
    if (outcome.kind == OutcomeKind::interrupted) return;
    const Trial& trial = books_.trial(replay.trial);
    const std::string told = outcome.failure ? failure_line(*outcome.failure) : "the failure did not come again";
    const std::string before = books_.store().log(trial, replay.attempt);
    std::string text = before.empty() || before.ends_with('\n') ? "" : "\n";
    text += "--- once more, with kernel launches that block: " + told + "\n" + outcome.log;
    if (outcome.failure && outcome.log.empty()) text += outcome.failure->traceback;
    books_.store().add_to_log(trial, replay.attempt, text);
    observer_.on(event::TrialReplayed{trial, told});
}

}  // namespace hpo::tuner
