// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "hpo/analysis/device_share.hpp"
#include "hpo/analysis/failure_case.hpp"
#include "hpo/analysis/history_cause.hpp"
#include "hpo/analysis/lua_rule.hpp"
#include "hpo/analysis/prediction.hpp"
#include "hpo/analysis/region_learner.hpp"
#include "hpo/analysis/smallest_change.hpp"
#include "hpo/core/study.hpp"

namespace hpo::analysis {

/// One out-of-memory with the change that would have avoided it.
struct OomCase {
    FailureCase failed;
    std::optional<Change> change;
};

/// Count and cost of one kind of failure.
struct Tally {
    std::size_t count = 0;
    double seconds = 0;  ///< of the attempts whose time is known
};

/// The highest memory that a trial was seen to use.
struct PeakUse {
    std::int64_t trial = 0;
    std::int64_t bytes = 0;
};

/// The answers of `hpo-analyze oom`.
struct OomReport {
    std::optional<std::int64_t> capacity_bytes;  ///< of the device, or of the most frequent kind of device
    std::size_t trials = 0;                      ///< of the study, waiting ones included
    std::size_t oom_trials = 0;
    std::size_t oom_attempts = 0;
    std::size_t recovered_trials = 0;  ///< ran out of memory, and ran in a later attempt
    double wasted_seconds = 0;
    double total_seconds = 0;  ///< of all finished trials
    std::map<OomCause, Tally> causes;
    std::map<std::string, Tally> others;  ///< failures that are no out-of-memory: victim, prevented, device_assert, and kinds
    std::vector<OomRegion> regions;
    std::vector<OomCase> cases;
    PredictionQuality prediction;
    std::optional<PeakUse> highest_peak;
    std::size_t unexplained_infinite = 0;  ///< COMPLETE trials with an infinite value and nothing that says why
    std::string rule_lua;
};

namespace detail {

/// The name under which a failure that is no out-of-memory is counted.
[[nodiscard]] inline std::string other_name(const FailureCase& entry) {
    if (entry.victim) return "victim";
    if (entry.failure.kind == FailureKind::predicted_oom) return "prevented";
    if (entry.failure.code == 710) return "device_assert";
    return std::string{to_text(entry.failure.kind)};
}

/// The most frequent device capacity among all readings; of equally frequent ones the largest.
[[nodiscard]] inline std::optional<std::int64_t> usual_capacity(std::span<const Trial> trials, std::span<const FailureCase> cases) {
    std::map<std::int64_t, std::size_t> counts;
    const auto add = [&](const MemoryReading& reading) {
        if (reading.capacity) ++counts[*reading.capacity];
    };
    for (const FailureCase& entry : cases) add(entry.failure.memory);
    for (const Trial& trial : trials) {
        if (const auto start = start_of(trial, nullptr)) add(*start);
        for (const Attempt& attempt : trial.attempts) {
            if (!attempt.memory.empty()) add(attempt.memory.front().reading);
        }
    }
    const auto most = std::ranges::max_element(counts, {}, [](const auto& entry) { return std::pair{entry.second, entry.first}; });
    return most == counts.end() ? std::nullopt : std::optional{most->first};
}

/// The learned regions with the counts that a reader can check: finished trials that were launched, and those of them that ran out of
/// memory for any cause.
[[nodiscard]] inline std::vector<OomRegion> counted_regions(std::vector<LearnedRegion> learned, std::span<const Trial> trials,
                                                            const std::set<const Trial*>& out_of_memory,
                                                            const std::set<const Trial*>& recovered,
                                                            const std::set<const Trial*>& not_run) {
    std::vector<OomRegion> regions;
    for (LearnedRegion& entry : learned) {
        OomRegion region{.region = std::move(entry.region)};
        for (const Trial& trial : trials) {
            if (!is_finished(trial.state) || not_run.contains(&trial) || !holds(region.region, trial.params)) continue;
            ++region.trials;
            if (out_of_memory.contains(&trial)) ++region.oom;
            if (recovered.contains(&trial)) ++region.recovered;
        }
        regions.push_back(std::move(region));
    }
    std::ranges::stable_sort(regions, std::greater{}, [](const OomRegion& region) { return std::pair{region.oom, region.rate()}; });
    return regions;
}

}  // namespace detail

/// Answers the post-mortem's questions from trials and rejections alone. Pointers in the report's cases refer into `trials`.
[[nodiscard]] inline OomReport oom_report(std::span<const Trial> trials, std::span<const Rejection> rejections) {
    OomReport report;
    std::vector<FailureCase> cases = failure_cases(trials);
    explain_by_history(cases, trials);

    std::set<const Trial*> out_of_memory;
    std::set<const Trial*> recovered;
    std::set<const Trial*> not_run;
    std::set<const Trial*> failed;
    std::set<OomCause> causes;  // that a rule could answer
    for (const FailureCase& entry : cases) {
        failed.insert(entry.trial);
        const double seconds = entry.seconds.value_or(0);
        if (entry.is_oom()) {
            out_of_memory.insert(entry.trial);
            if (entry.recovered) recovered.insert(entry.trial);
            const OomCause cause = entry.failure.cause.value_or(OomCause::unknown);
            if (!got_larger_share(entry)) causes.insert(cause);
            auto& tally = report.causes[cause];
            ++tally.count;
            tally.seconds += seconds;
            report.wasted_seconds += seconds;
            ++report.oom_attempts;
        } else {
            auto& tally = report.others[detail::other_name(entry)];
            ++tally.count;
            tally.seconds += seconds;
            if (entry.failure.kind == FailureKind::predicted_oom || entry.victim) not_run.insert(entry.trial);
        }
    }
    report.oom_trials = out_of_memory.size();
    report.recovered_trials = recovered.size();
    report.capacity_bytes = detail::usual_capacity(trials, cases);

    report.trials = trials.size();
    std::vector<const Trial*> fitted;
    for (const Trial& trial : trials) {
        report.total_seconds += detail::trial_seconds(trial).value_or(0);
        if (ran_well(trial) && (!failed.contains(&trial) || recovered.contains(&trial))) fitted.push_back(&trial);
        if (const auto peak = peak_of(trial); peak && (!report.highest_peak || *peak > report.highest_peak->bytes))
            report.highest_peak = PeakUse{.trial = trial.number, .bytes = *peak};
        if (trial.state == TrialState::complete && !trial.values.empty() && std::isinf(trial.values.front()) && !failed.contains(&trial))
            ++report.unexplained_infinite;
    }

    const std::vector<Example> examples = memory_examples(trials, cases);
    report.regions = detail::counted_regions(learn_regions(examples), trials, out_of_memory, recovered, not_run);
    const DemandModel model{examples};
    Witnesses witnesses{fitted, model.axes()};
    for (FailureCase& entry : cases) {
        if (!entry.is_oom()) continue;
        auto change = smallest_change(entry, witnesses, model);
        report.cases.push_back({.failed = std::move(entry), .change = std::move(change)});
    }
    report.prediction = prediction_quality(trials, rejections);
    if (const auto prevented = report.others.find("prevented"); prevented != report.others.end())
        report.prediction.refused_before_launch += prevented->second.count;
    report.rule_lua = lua_rule(report.regions, causes);
    return report;
}

}  // namespace hpo::analysis
