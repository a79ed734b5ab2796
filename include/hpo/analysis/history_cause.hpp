// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "hpo/analysis/failure_case.hpp"
#include "hpo/analysis/region_learner.hpp"

namespace hpo::analysis {

/// True for a trial that ran as it was meant to: complete with a finite value, or pruned, and without a failure.
[[nodiscard]] inline bool ran_well(const Trial& trial) {
    if (trial.state == TrialState::complete) return trial.values.empty() || std::isfinite(trial.values.front());
    return trial.state == TrialState::pruned;
}

/// What the learners see: trials that ran out of memory because of their configuration, against those that ran at once. Of more than
/// 4,000 such trials, as many evenly spaced ones. The peak of a trial that ran in smaller pieces than its batch is not its own.
[[nodiscard]] std::vector<Example> memory_examples(std::span<const Trial> trials, std::span<const FailureCase> cases);

/// Adds what only other trials can tell: who is a victim, what was a leak, what must have been capacity.
void explain_by_history(std::span<FailureCase> cases, std::span<const Trial> trials);

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/history_cause_inl.hpp"
#endif
