// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "hpo/analysis/failure_region.hpp"
#include "hpo/analysis/silent_failure.hpp"
#include "hpo/analysis/stale_trials.hpp"
#include "hpo/analysis/unreported_prunes.hpp"

namespace hpo::analysis {

/// What the rows of a study show of trials that ended badly, or not at all, without a word.
struct SilentReport {
    Pace pace;
    std::vector<SilentFailure> failures;
    std::optional<FailureRegion> region;  ///< where such failures are dense
    std::vector<StaleTrial> stale;
    std::vector<const Trial*> abandoned;  ///< RUNNING although the run of ours that began them is gone
    std::vector<UnreportedPrune> pruned;
    std::optional<FailureRegion> pruned_region;  ///< where these are dense

    [[nodiscard]] bool empty() const { return failures.empty() && stale.empty() && abandoned.empty() && pruned.empty(); }
};

/// `cases` are the failures of `trials` (failure_cases); pointers in the report refer into both.
[[nodiscard]] SilentReport silent_report(std::span<const FailureCase> cases, std::span<const Trial> trials,
                                         const AbandonedTrials& abandoned = {});

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/silent_report_inl.hpp"
#endif
