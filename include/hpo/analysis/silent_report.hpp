// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "hpo/analysis/failure_region.hpp"
#include "hpo/analysis/history_cause.hpp"
#include "hpo/analysis/silent_failure.hpp"
#include "hpo/analysis/unended_trials.hpp"

namespace hpo::analysis {

/// What the rows of a study show of trials that ended badly, or not at all, without a word.
struct SilentReport {
    Pace pace;
    std::vector<SilentFailure> failures;
    std::optional<FailureRegion> region;  ///< where such failures are dense
    std::vector<StaleTrial> stale;
    std::vector<UnreportedPrune> pruned;

    [[nodiscard]] bool empty() const { return failures.empty() && stale.empty() && pruned.empty(); }
};

namespace detail {

/// Silent failures that an out-of-memory could be, against trials that ran well; of more than 4,000 as many evenly spaced ones.
[[nodiscard]] inline std::vector<Example> silent_examples(std::span<const SilentFailure> failures, std::span<const FailureCase> cases,
                                                          std::span<const Trial> trials) {
    std::set<const Trial*> silent;
    for (const SilentFailure& entry : failures) {
        if (entry.pattern != SilentPattern::last_report && !entry.trial->params.empty()) silent.insert(entry.trial);
    }
    std::set<const Trial*> known;
    for (const FailureCase& entry : cases) known.insert(entry.trial);
    std::vector<Example> examples;
    for (const Trial& trial : trials) {
        const bool failed = silent.contains(&trial);
        if (failed || (ran_well(trial) && !known.contains(&trial)))
            examples.push_back({.params = &trial.params, .positive = failed, .peak_bytes = {}});
    }
    constexpr std::size_t most = 4000;
    if (examples.size() <= most) return examples;
    std::vector<Example> spaced;
    for (std::size_t i = 0; i < most; ++i) spaced.push_back(examples[i * examples.size() / most]);
    return spaced;
}

}  // namespace detail

/// `cases` are the failures of `trials` (failure_cases); pointers in the report refer into both.
[[nodiscard]] inline SilentReport silent_report(std::span<const FailureCase> cases, std::span<const Trial> trials) {
    SilentReport report;
    report.failures = silent_failures(cases, trials);
    report.stale = stale_trials(trials);
    std::erase_if(report.stale, [&](const StaleTrial& entry) {
        return std::ranges::find(cases, entry.trial, &FailureCase::trial) != cases.end();  // the log told what became of it
    });
    report.pruned = unreported_prunes(trials, cases);
    if (report.empty()) return report;
    report.pace = pace_of(trials);
    if (!report.failures.empty()) report.region = failure_region(detail::silent_examples(report.failures, cases, trials));
    return report;
}

}  // namespace hpo::analysis
