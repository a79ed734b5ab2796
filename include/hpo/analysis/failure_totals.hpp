// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "hpo/analysis/failure_case.hpp"
#include "hpo/analysis/failure_name.hpp"
#include "hpo/analysis/silent_report.hpp"
#include "hpo/analysis/study_counts.hpp"

namespace hpo::analysis {

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

/// What failures cost a study, as every command of hpo-analyze tells it.
struct FailureTotals : StudyCounts {
    std::map<OomCause, Tally> causes;            ///< of the attempts that ran out of memory
    std::map<std::string, Tally> others;         ///< all other failed attempts, by failure_name
    double wasted_seconds = 0;                   ///< of the attempts that ran out of memory
    double total_seconds = 0;                    ///< of all finished trials
    std::optional<std::int64_t> capacity_bytes;  ///< of the device, or of the most frequent kind of device
    std::optional<PeakUse> highest_peak;
    std::size_t unexplained_infinite = 0;  ///< COMPLETE trials with an infinite value and nothing that says why
    std::size_t silent_failures = 0;       ///< trials that failed without a message
    std::size_t vanished_running = 0;      ///< RUNNING trials whose process is probably gone
    std::size_t abandoned_running = 0;     ///< RUNNING trials of runs of ours that are gone
    std::size_t unreported_prunes = 0;     ///< PRUNED by another program without a report

    /// True where trials ended or vanished and nothing says why: then nobody knows that no memory ran out.
    [[nodiscard]] bool is_uncertain() const {
        return silent_failures + unexplained_infinite + killed_attempts + vanished_running + abandoned_running + unreported_prunes > 0;
    }
};

namespace detail {

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

}  // namespace detail

/// `cases`: failure_cases of these trials, in their order, with what their history tells. `silent`: their silent_report.
[[nodiscard]] inline FailureTotals failure_totals(std::span<const Trial> trials, std::span<const FailureCase> cases,
                                                  const SilentReport& silent) {
    FailureTotals totals{count(trials, cases), {}, {}, 0, 0, detail::usual_capacity(trials, cases), {}};
    totals.vanished_running = silent.stale.size();
    totals.abandoned_running = silent.abandoned.size();
    totals.unreported_prunes = silent.pruned.size();
    std::set<const Trial*> failed;
    for (const FailureCase& entry : cases) {
        failed.insert(entry.trial);
        if (entry.silent()) ++totals.silent_failures;
        Tally& tally = entry.is_oom() ? totals.causes[entry.failure.cause.value_or(OomCause::unknown)]
                                      : totals.others[std::string{failure_name(entry)}];
        ++tally.count;
        tally.seconds += entry.seconds.value_or(0);
        if (entry.is_oom()) totals.wasted_seconds += entry.seconds.value_or(0);
    }
    for (const Trial& trial : trials) {
        totals.total_seconds += detail::trial_seconds(trial).value_or(0);
        if (const auto peak = peak_of(trial); peak && (!totals.highest_peak || *peak > totals.highest_peak->bytes))
            totals.highest_peak = PeakUse{.trial = trial.number, .bytes = *peak};
        if (trial.state == TrialState::complete && !trial.values.empty() && std::isinf(trial.values.front()) && !failed.contains(&trial))
            ++totals.unexplained_infinite;
    }
    return totals;
}

}  // namespace hpo::analysis
