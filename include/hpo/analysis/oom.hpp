// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/analysis/change.hpp"
#include "hpo/analysis/failure_case.hpp"
#include "hpo/analysis/failure_totals.hpp"
#include "hpo/analysis/lua_rule.hpp"
#include "hpo/analysis/prediction.hpp"
#include "hpo/analysis/silent_report.hpp"
#include "hpo/core/study.hpp"

namespace hpo::analysis {

/// One out-of-memory with the change that would have avoided it.
struct OomCase {
    FailureCase failed;
    std::optional<Change> change;
};

/// The answers of `hpo-analyze oom`.
struct OomReport : FailureTotals {
    std::vector<OomRegion> regions;
    std::vector<OomCase> cases;
    std::vector<FailureCase> other_failures;  ///< all that were no out-of-memory
    PredictionQuality prediction;
    SilentReport silent;  ///< what the rows show of trials that left no message
    std::string rule_lua;
};

/// Answers the post-mortem's questions from trials and rejections alone. Pointers in the report's cases refer into `trials`. The rule
/// refuses none of the best trials; without `directions` it is not known which these are. `log` is what the program's own log says
/// (failure_cases).
[[nodiscard]] OomReport oom_report(std::span<const Trial> trials, std::span<const Rejection> rejections,
                                   std::span<const Direction> directions = {}, const ToldFailures& log = {},
                                   const AbandonedTrials& abandoned = {});

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/oom_inl.hpp"
#endif
