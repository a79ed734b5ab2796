// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "hpo/analysis/failure_cases/failure_case.hpp"

namespace hpo::analysis {

/// True for a trial that was given up or whose run is gone. It has no result and no failure of its own. Optuna sees it as failed.
[[nodiscard]] bool is_interrupted(const Trial& trial);

/// True if there are complete trials, and each has a value that is not finite.
[[nodiscard]] bool has_only_infinite_values(std::span<const Trial> trials);

/// The word for a trial's state: complete, pruned, failed, interrupted, running or waiting.
[[nodiscard]] std::string_view state_word(const Trial& trial);

/// Counts a study's trials and attempts by their outcome. All tools use these counts, so that they agree.
struct StudyCounts {
    std::size_t trials = 0;
    std::size_t complete = 0, pruned = 0, failed = 0, interrupted = 0, running = 0, waiting = 0;  ///< each trial is one of these
    std::size_t infeasible = 0;           ///< ended with a violated constraint; also counted as complete, pruned or failed
    std::size_t attempts = 0;             ///< launched attempts; studies of other programs have none
    std::size_t oom_attempts = 0;         ///< ran out of memory, on the device or the host; also in trials that were interrupted later
    std::size_t oom_trials = 0;           ///< trials with such an attempt
    std::size_t oom_ended = 0;            ///< of these, the trials that ended
    std::size_t killed_attempts = 0;      ///< the process was gone or ended by SIGKILL, for an unknown reason
    std::size_t ended_by_sigkill = 0;     ///< of these, those of which the signal is known
    std::size_t lost_with_run = 0;        ///< of these, those whose run is gone, too
    std::size_t recovered_trials = 0;     ///< trials that ran out of memory, but a later attempt ran to its end or was pruned
    std::size_t recovered_otherwise = 0;  ///< other trials in which an attempt failed, and a later one ran to its end or was pruned
    std::size_t caught_trials = 0;        ///< trials of another program that ran out of memory, and are complete all the same

    /// Trials that ended by themselves. Shares are shares of them, and they count towards the requested number of trials.
    [[nodiscard]] std::size_t ended() const { return complete + pruned + failed; }
    [[nodiscard]] double oom_share() const { return ended() > 0 ? static_cast<double>(oom_ended) / static_cast<double>(ended()) : 0; }

    /// `cases` are all failure_cases of this trial.
    void add(const Trial& trial, std::span<const FailureCase> cases);
    void add(const Trial& trial) { add(trial, failure_cases({&trial, 1})); }

private:
    [[nodiscard]] std::size_t& of(const Trial& trial);
};

/// `cases` are the failure_cases of these trials, in their order.
[[nodiscard]] StudyCounts count(std::span<const Trial> trials, std::span<const FailureCase> cases);
[[nodiscard]] StudyCounts count(std::span<const Trial> trials);

}  // namespace hpo::analysis
