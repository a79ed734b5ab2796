// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "hpo/analysis/failure_case.hpp"

namespace hpo::analysis {

/// True for a trial that was given up or whose run was gone: no result, and no failure of its own. Optuna sees it failed.
[[nodiscard]] bool is_interrupted(const Trial& trial);

/// The one word for how a trial stands: complete, pruned, failed, interrupted, running or waiting.
[[nodiscard]] std::string_view state_word(const Trial& trial);

/// A study's trials and attempts by what came of them: what every tool counts with, so that no two tell different numbers.
struct StudyCounts {
    std::size_t trials = 0;
    std::size_t complete = 0, pruned = 0, failed = 0, interrupted = 0, running = 0, waiting = 0;  ///< each trial is one of these
    std::size_t infeasible = 0;       ///< ended with a violated constraint; complete, pruned or failed besides
    std::size_t attempts = 0;         ///< launched; studies of other programs tell none
    std::size_t oom_attempts = 0;     ///< ran out of memory, on the device or on the host; also of trials that were interrupted later
    std::size_t oom_trials = 0;       ///< with such an attempt
    std::size_t oom_ended = 0;        ///< of these the ended ones
    std::size_t killed_attempts = 0;  ///< whose process was gone or ended by SIGKILL, and nothing tells by whom
    std::size_t recovered_trials =
        0;  ///< of the trials that ran out of memory the ones that a later attempt ran to its end, or until it was pruned

    /// Trials that came to an end of their own: what shares are shares of, and what counts towards the asked number of trials.
    [[nodiscard]] std::size_t ended() const { return complete + pruned + failed; }
    [[nodiscard]] double oom_share() const { return ended() > 0 ? static_cast<double>(oom_ended) / static_cast<double>(ended()) : 0; }

    /// `cases`: failure_cases of this trial, all of them.
    void add(const Trial& trial, std::span<const FailureCase> cases);
    void add(const Trial& trial) { add(trial, failure_cases({&trial, 1})); }

private:
    [[nodiscard]] std::size_t& of(const Trial& trial);
};

/// `cases`: failure_cases of these trials, in their order.
[[nodiscard]] StudyCounts count(std::span<const Trial> trials, std::span<const FailureCase> cases);
[[nodiscard]] inline StudyCounts count(std::span<const Trial> trials) { return count(trials, failure_cases(trials)); }

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/study_counts_inl.hpp"
#endif
