// SPDX-License-Identifier: MIT
#include "hpo/analysis/silent_failures/silent_report.hpp"

#include <set>
#include <span>
#include <vector>

#include "analysis/memory_need/evenly_spaced.hpp"
#include "hpo/analysis/failure_cases/history_cause.hpp"
#include "hpo/analysis/study_counts.hpp"

namespace hpo::analysis::detail {

using TrialSet = std::set<const Trial*>;

/// The trials of `ended`, and as negatives those that ran well and are not in `open`. If there are more than 4,000, evenly spaced ones are
/// taken.
[[nodiscard]] std::vector<Example> silent_examples(const TrialSet& ended, const TrialSet& open, std::span<const Trial> trials) {
    std::vector<Example> examples;
    for (const Trial& trial : trials) {
        const bool failed = ended.contains(&trial);
        if (failed || (ran_well(trial) && !open.contains(&trial)))
            examples.push_back({.params = &trial.params, .positive = failed, .peak_bytes = {}});
    }
    return evenly_spaced<Example>(examples, 4000);
}

/// Counts all trials that ended or vanished, as a reader would. The test that found the region looked at fewer.
void count_all(FailureRegion& region, const TrialSet& failed, std::span<const Trial> trials) {
    region.counts = {};
    for (const Trial& trial : trials) {
        const bool counts = failed.contains(&trial) || (is_finished(trial.state) && !is_interrupted(trial));
        if (!counts) continue;
        const bool inside = holds(region.region, trial.params);
        ++(inside ? region.counts.inside : region.counts.outside);
        if (failed.contains(&trial)) ++(inside ? region.counts.failed_inside : region.counts.failed_outside);
    }
}

/// The trials that an out-of-memory may have ended: nothing that was kept says what did. A value of NaN alone says nothing, since a program
/// that caught an error may have returned it. The kernel's out-of-memory killer may have killed a process.
[[nodiscard]] TrialSet unexplained(std::span<const FailureCase> cases, const SilentReport& report) {
    TrialSet trials;
    for (const SilentFailure& entry : report.failures) {
        const bool other_cause = entry.pattern == SilentPattern::last_report || entry.pattern == SilentPattern::time_limit ||
                                 entry.pattern == SilentPattern::in_a_row;
        if (!other_cause && !entry.trial->params.empty()) trials.insert(entry.trial);
    }
    for (const FailureCase& entry : cases) {
        const bool killed = entry.killed() && !entry.attempt;
        if ((killed || entry.only_value_is_known()) && !entry.trial->params.empty()) trials.insert(entry.trial);
    }
    trials.insert(report.values.infinite.begin(), report.values.infinite.end());
    trials.insert(report.values.penalised.begin(), report.values.penalised.end());
    for (const StaleTrial& entry : report.stale) {
        if (!entry.trial->params.empty()) trials.insert(entry.trial);
    }
    return trials;
}

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

SilentReport silent_report(std::span<const FailureCase> cases, std::span<const Trial> trials, const StudyContext& context) {
    detail::TrialSet known;
    for (const FailureCase& entry : cases) known.insert(entry.trial);
    SilentReport report;
    report.values = suspicious_values(trials, context.directions, known);
    detail::TrialSet no_result = known;
    no_result.insert(report.values.infinite.begin(), report.values.infinite.end());
    no_result.insert(report.values.penalised.begin(), report.values.penalised.end());
    report.pace = pace_of(trials, no_result);
    report.failures = silent_failures(cases, trials, report.pace);
    report.stale = stale_trials(trials, context.silent_seconds);
    std::erase_if(report.stale, [&](const StaleTrial& entry) { return known.contains(entry.trial); });  // the log says how it ended
    detail::TrialSet gone = known;
    for (const StaleTrial& entry : report.stale) gone.insert(entry.trial);
    for (const Trial& trial : trials) {
        if (trial.state != TrialState::running) continue;
        if (context.abandoned.contains(trial.id)) report.abandoned.push_back(&trial);
        else if (trial.attempts.empty() && !gone.contains(&trial)) report.open.push_back(&trial);
    }
    report.pruned = unreported_prunes(trials, known);
    const detail::TrialSet failed = detail::unexplained(cases, report);
    if (report.empty() && failed.empty()) return report;
    detail::TrialSet pruned;
    for (const UnreportedPrune& entry : report.pruned) pruned.insert(entry.trial);
    known = no_result;
    known.insert(pruned.begin(), pruned.end());
    if (!failed.empty()) {
        std::vector<const Trial*> others;
        for (const Trial& trial : trials) {
            if (trial.state == TrialState::complete && !known.contains(&trial)) others.push_back(&trial);
        }
        report.penalised_by = separating_bound(report.values.penalised, others);
        report.indivisible = indivisible_pair(failed, others);
        if (!report.indivisible) report.region = failure_region(detail::silent_examples(failed, known, trials));
        if (report.region) detail::count_all(*report.region, failed, trials);
    }
    if (!pruned.empty()) report.pruned_region = failure_region(detail::silent_examples(pruned, known, trials));
    if (report.pruned_region) detail::count_all(*report.pruned_region, pruned, trials);
    return report;
}

}  // namespace hpo::analysis
