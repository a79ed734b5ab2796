// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "hpo/analysis/failure_cases/failure_case.hpp"
#include "hpo/analysis/failure_cases/finite_values.hpp"
#include "hpo/analysis/regions/region_learner.hpp"

namespace hpo::analysis {

/// True for a trial that ran well: complete with finite values, or pruned, and without a failure.
[[nodiscard]] inline bool ran_well(const Trial& trial) {
    if (trial.state == TrialState::complete) return has_finite_values(trial);
    return trial.state == TrialState::pruned;
}

/// The examples for the learners. Positives are trials that ran out of memory because of their configuration. The others are trials that
/// ran at once. If there are more than 4,000, evenly spaced ones are taken. A trial that ran with smaller micro-batches than its batch has
/// no peak here.
[[nodiscard]] std::vector<Example> memory_examples(std::span<const Trial> trials, std::span<const FailureCase> cases);

/// Adds the causes that only other trials can show: victims, leaks, and failures that must have been of capacity.
void explain_by_history(std::span<FailureCase> cases, std::span<const Trial> trials);

}  // namespace hpo::analysis
