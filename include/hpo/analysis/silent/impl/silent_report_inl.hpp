// SPDX-License-Identifier: MIT
#pragma once

#include <set>
#include <span>
#include <vector>

#include "hpo/analysis/cases/history_cause.hpp"
#include "hpo/analysis/demand/evenly_spaced.hpp"
#include "hpo/analysis/silent/silent_report.hpp"
#include "hpo/base/inline.hpp"

namespace hpo::analysis::detail {

using TrialSet = std::set<const Trial*>;

/// The trials of `ended`, and as negatives those that ran well and are not in `open`. If there are more than 4,000, evenly spaced ones are
/// taken.
[[nodiscard]] HPO_INLINE std::vector<Example> silent_examples(const TrialSet& ended, const TrialSet& open, std::span<const Trial> trials) {
    std::vector<Example> examples;
    for (const Trial& trial : trials) {
        const bool failed = ended.contains(&trial);
        if (failed || (ran_well(trial) && !open.contains(&trial)))
            examples.push_back({.params = &trial.params, .positive = failed, .peak_bytes = {}});
    }
    return evenly_spaced<Example>(examples, 4000);
}

}  // namespace hpo::analysis::detail

namespace hpo::analysis::inline silent {

HPO_INLINE SilentReport silent_report(std::span<const FailureCase> cases, std::span<const Trial> trials, const AbandonedTrials& abandoned) {
    detail::TrialSet known;
    for (const FailureCase& entry : cases) known.insert(entry.trial);
    SilentReport report;
    report.failures = silent_failures(cases, trials);
    report.stale = stale_trials(trials);
    std::erase_if(report.stale, [&](const StaleTrial& entry) { return known.contains(entry.trial); });  // the log says how it ended
    for (const Trial& trial : trials) {
        if (trial.state == TrialState::running && abandoned.contains(trial.id)) report.abandoned.push_back(&trial);
    }
    report.pruned = unreported_prunes(trials, known);
    if (report.empty()) return report;
    report.pace = pace_of(trials);
    detail::TrialSet failed;  // trials that an out-of-memory may have ended
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

}  // namespace hpo::analysis::silent
