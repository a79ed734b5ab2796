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

#include "hpo/trainer/executor.hpp"
#include "hpo/tuner/bookkeeping.hpp"
#include "hpo/tuner/devices/attempt_reservations.hpp"
#include "hpo/tuner/options.hpp"

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

}  // namespace hpo::tuner

#ifndef HPO_COMPILED
#include "hpo/tuner/impl/replays_inl.hpp"
#endif
