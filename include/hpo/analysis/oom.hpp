// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/analysis/changes/change.hpp"
#include "hpo/analysis/failure_cases/failure_case.hpp"
#include "hpo/analysis/failure_totals.hpp"
#include "hpo/analysis/prediction.hpp"
#include "hpo/analysis/rules/lua_rule.hpp"
#include "hpo/analysis/rules/python_rule.hpp"
#include "hpo/analysis/silent_failures/silent_report.hpp"
#include "hpo/core/study.hpp"

namespace hpo::analysis {

/// An out-of-memory, and the change that would have avoided it.
struct OomCase {
    FailureCase failed;
    std::optional<Change> change;
};

/// The answers of `hpo-analyze oom`.
struct OomReport : FailureTotals {
    std::vector<OomRegion> regions;
    std::vector<OomCase> cases;
    std::vector<FailureCase> other_failures;  ///< all failures but out-of-memories
    PredictionQuality prediction;
    SilentReport silent;  ///< what the stored trials show about failures without a message
    std::string rule_lua;
    std::string rule_python;  ///< for a study that Optuna ran
};

namespace detail {

/// Where all attempts of a cause that ran later were cured by something else than a smaller number, that cure replaces a smaller number
/// that only other trials' sizes speak for.
void prefer_measured_cures(std::vector<OomCase>& cases);

}  // namespace detail

/// Makes the post-mortem of a study from its trials and rejections alone. Pointers in the report's cases refer into `trials`. The report's
/// rule refuses none of the best trials. Without directions in `context` the best trials are not known. `log` is what the program's own log
/// says (failure_cases).
[[nodiscard]] OomReport oom_report(std::span<const Trial> trials, std::span<const Rejection> rejections, const StudyContext& context = {},
                                   const ToldFailures& log = {});

}  // namespace hpo::analysis
