// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "analysis/changes/compared_trials.hpp"
#include "analysis/memory_need/memory_model.hpp"
#include "hpo/analysis/changes/change.hpp"
#include "hpo/analysis/failure_cases/failure_case.hpp"

namespace hpo::analysis {

/// The smallest single change that is known to fit. A later attempt of the same trial shows it, or else another trial. A much smaller
/// change that fits by the peaks of all trials is preferred to the latter. For causes outside the configuration the change follows from the
/// failure's figures. Returns nullopt if no change is known.
[[nodiscard]] std::optional<Change> smallest_change(const FailureCase& entry, const ComparedTrials& compared, const MemoryModel& model);

}  // namespace hpo::analysis
