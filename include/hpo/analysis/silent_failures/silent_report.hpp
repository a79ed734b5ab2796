// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "hpo/analysis/rules/failure_region.hpp"
#include "hpo/analysis/silent_failures/indivisible.hpp"
#include "hpo/analysis/silent_failures/pace.hpp"
#include "hpo/analysis/silent_failures/separating_bound.hpp"
#include "hpo/analysis/silent_failures/silent_failure.hpp"
#include "hpo/analysis/silent_failures/stale_trials.hpp"
#include "hpo/analysis/silent_failures/suspicious_values.hpp"
#include "hpo/analysis/silent_failures/unreported_prunes.hpp"
#include "hpo/core/study.hpp"

namespace hpo::analysis {

/// What is known of a study beside its trials.
struct StudyContext {
    std::span<const Direction> directions{};
    AbandonedTrials abandoned{};
    std::optional<double> silent_seconds{};  ///< since the store was written last; nullopt: not known
};

/// What a study's stored data show about trials that left no message: they ended badly, with a value that is perhaps no result, or not at
/// all.
struct SilentReport {
    Pace pace;
    std::vector<SilentFailure> failures;
    SuspiciousValues values;
    std::optional<SeparatingBound> penalised_by;  ///< what tells the penalised trials from the others, if memory does not depend on it
    std::vector<StaleTrial> stale;
    std::vector<const Trial*> open;              ///< RUNNING, of another program. They may still run, or their process is gone
    std::vector<const Trial*> abandoned;         ///< RUNNING, but the run of hpo that began them is gone
    std::optional<FailureRegion> region;         ///< where such failures are frequent
    std::optional<IndivisiblePair> indivisible;  ///< in place of a region
    std::vector<UnreportedPrune> pruned;
    std::optional<FailureRegion> pruned_region;  ///< where unreported prunes are frequent

    [[nodiscard]] bool empty() const {
        return failures.empty() && values.empty() && stale.empty() && abandoned.empty() && open.empty() && pruned.empty() && !region &&
               !indivisible;
    }
};

/// `cases` are the failures of `trials` (failure_cases). Pointers in the report refer into both.
[[nodiscard]] SilentReport silent_report(std::span<const FailureCase> cases, std::span<const Trial> trials,
                                         const StudyContext& context = {});

}  // namespace hpo::analysis
