// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/analysis/failure_cases/failure_case.hpp"
#include "hpo/analysis/silent_failures/silent_report.hpp"
#include "hpo/analysis/study_counts.hpp"

namespace hpo::analysis {

/// The count and the cost of one kind of failure.
struct Tally {
    std::size_t count = 0;
    std::optional<double> seconds;  ///< of the attempts whose time is known; nullopt if none is
};

/// The highest measured memory use of a trial.
struct PeakUse {
    std::int64_t trial = 0;
    std::int64_t bytes = 0;
    std::optional<std::int64_t> capacity_bytes{};  ///< of the device that it ran on
};

/// What failures cost a study. Every command of hpo-analyze prints these numbers.
struct FailureTotals : StudyCounts {
    std::map<OomCause, Tally> causes;            ///< of the attempts that ran out of memory
    std::map<std::string, Tally> others;         ///< all other failed attempts, by failure_name
    std::optional<double> wasted_seconds;        ///< of the attempts that ran out of memory; nullopt if none of their times is known
    double total_seconds = 0;                    ///< of all finished trials
    std::optional<std::int64_t> capacity_bytes;  ///< of the device, or of the most frequent kind of device
    std::optional<PeakUse> highest_peak;
    std::size_t unexplained_infinite = 0;  ///< COMPLETE trials with an infinite value and no message
    std::size_t penalised = 0;             ///< COMPLETE trials whose value is perhaps a penalty for an error
    std::size_t silent_failures = 0;       ///< trials that failed without a message
    std::size_t unexplained_nan = 0;       ///< the program's log has Optuna's words about a returned NaN or None, and no reason for it
    std::size_t vanished_running = 0;      ///< RUNNING trials whose process is probably gone
    std::size_t open_running = 0;          ///< other RUNNING trials of another program: they may still run, or their process is gone
    std::optional<double> idle_seconds;    ///< in which nothing ran after trials whose process is probably gone
    std::size_t abandoned_running = 0;     ///< RUNNING trials of hpo's runs that are gone
    std::size_t unreported_prunes = 0;     ///< PRUNED by another program without a report

    /// The share that the highest peak took of its device. If that device is not known, of the most frequent one.
    [[nodiscard]] std::optional<double> peak_share() const {
        const auto capacity = highest_peak && highest_peak->capacity_bytes ? highest_peak->capacity_bytes : capacity_bytes;
        if (!highest_peak || !capacity || *capacity <= 0) return std::nullopt;
        return static_cast<double>(highest_peak->bytes) / static_cast<double>(*capacity);
    }
    /// True if trials ended or vanished without a message. Then it is not certain that none of them ran out of memory.
    [[nodiscard]] bool is_uncertain() const {
        return silent_failures + unexplained_nan + unexplained_infinite + penalised + killed_attempts + vanished_running + open_running +
                   abandoned_running + unreported_prunes >
               0;
    }
};

/// Adds a time to the sum of those that are known.
inline void add_known(std::optional<double>& sum, const std::optional<double>& seconds) {
    if (seconds) sum = sum.value_or(0) + *seconds;
}

namespace detail {

/// The most frequent of these numbers. If several are equally frequent, the largest.
[[nodiscard]] std::optional<std::int64_t> most_frequent(std::vector<std::int64_t> numbers);

/// The most frequent device capacity of all readings. If several are equally frequent, the largest.
[[nodiscard]] std::optional<std::int64_t> usual_capacity(std::span<const Trial> trials, std::span<const FailureCase> cases);

}  // namespace detail

/// `cases` are the failure_cases of these trials, in their order, after explain_by_history. `silent` is their silent_report.
[[nodiscard]] FailureTotals failure_totals(std::span<const Trial> trials, std::span<const FailureCase> cases, const SilentReport& silent);

}  // namespace hpo::analysis
