// SPDX-License-Identifier: MIT
#pragma once

#include <set>
#include <span>
#include <vector>

#include "hpo/analysis/evenly_spaced.hpp"
#include "hpo/analysis/history_cause.hpp"
#include "hpo/analysis/silent_report.hpp"
#include "hpo/core/inline.hpp"

namespace hpo::analysis::detail {

using TrialSet = std::set<const Trial*>;

/// The trials of `ended` against those that ran well and are not in `open`; of more than 4,000 as many evenly spaced ones.
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

namespace hpo::analysis {

HPO_INLINE SilentReport silent_report(std::span<const FailureCase> cases, std::span<const Trial> trials, const AbandonedTrials& abandoned) {
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
