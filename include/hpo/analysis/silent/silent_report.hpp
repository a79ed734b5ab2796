// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "hpo/analysis/rules/failure_region.hpp"
#include "hpo/analysis/silent/silent_failure.hpp"
#include "hpo/analysis/silent/stale_trials.hpp"
#include "hpo/analysis/silent/unreported_prunes.hpp"

namespace hpo::analysis::inline silent {

/// What a study's stored data show about trials that left no message: they ended badly or did not end.
struct SilentReport {
    Pace pace;
    std::vector<SilentFailure> failures;
    std::optional<FailureRegion> region;  ///< where such failures are frequent
    std::vector<StaleTrial> stale;
    std::vector<const Trial*> abandoned;  ///< RUNNING, but the run of hpo that began them is gone
    std::vector<UnreportedPrune> pruned;
    std::optional<FailureRegion> pruned_region;  ///< where unreported prunes are frequent

    [[nodiscard]] bool empty() const { return failures.empty() && stale.empty() && abandoned.empty() && pruned.empty(); }
};

/// `cases` are the failures of `trials` (failure_cases). Pointers in the report refer into both.
[[nodiscard]] SilentReport silent_report(std::span<const FailureCase> cases, std::span<const Trial> trials,
                                         const AbandonedTrials& abandoned = {});

}  // namespace hpo::analysis::silent

#ifndef HPO_COMPILED
#include "hpo/analysis/silent/impl/silent_report_inl.hpp"
#endif
