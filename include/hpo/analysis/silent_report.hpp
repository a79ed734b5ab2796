// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "hpo/analysis/evenly_spaced.hpp"
#include "hpo/analysis/failure_region.hpp"
#include "hpo/analysis/history_cause.hpp"
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

namespace detail {

using TrialSet = std::set<const Trial*>;

/// The trials of `ended` against those that ran well and are not in `open`; of more than 4,000 as many evenly spaced ones.
[[nodiscard]] inline std::vector<Example> silent_examples(const TrialSet& ended, const TrialSet& open, std::span<const Trial> trials) {
    std::vector<Example> examples;
    for (const Trial& trial : trials) {
        const bool failed = ended.contains(&trial);
        if (failed || (ran_well(trial) && !open.contains(&trial)))
            examples.push_back({.params = &trial.params, .positive = failed, .peak_bytes = {}});
    }
    return evenly_spaced<Example>(examples, 4000);
}

}  // namespace detail

/// `cases` are the failures of `trials` (failure_cases); pointers in the report refer into both.
[[nodiscard]] inline SilentReport silent_report(std::span<const FailureCase> cases, std::span<const Trial> trials,
                                                const AbandonedTrials& abandoned = {}) {
    detail::TrialSet known;
    for (const FailureCase& entry : cases) known.insert(entry.trial);
    SilentReport report;
    report.failures = silent_failures(cases, trials);
    report.stale = stale_trials(trials);
    std::erase_if(report.stale, [&](const StaleTrial& entry) { return known.contains(entry.trial); });  // the log told what became of it
    for (const Trial& trial : trials) {
        if (trial.state == TrialState::running && abandoned.contains(trial.id)) report.abandoned.push_back(&trial);
    }
    report.pruned = unreported_prunes(trials, known);
    if (report.empty()) return report;
    report.pace = pace_of(trials);
    detail::TrialSet failed;  // those that an out-of-memory could be
    for (const SilentFailure& entry : report.failures) {
        if (entry.pattern != SilentPattern::last_report && !entry.trial->params.empty()) failed.insert(entry.trial);
    }
    detail::TrialSet pruned;
    for (const UnreportedPrune& entry : report.pruned) pruned.insert(entry.trial);
    known.insert(pruned.begin(), pruned.end());
    if (!failed.empty()) report.region = failure_region(detail::silent_examples(failed, known, trials));
    if (!pruned.empty()) report.pruned_region = failure_region(detail::silent_examples(pruned, known, trials));
    return report;
}

}  // namespace hpo::analysis
