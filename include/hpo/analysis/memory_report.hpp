// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/analysis/prediction.hpp"
#include "hpo/analysis/rules/safe_region.hpp"
#include "hpo/analysis/silent_failures/silent_failure.hpp"
#include "hpo/analysis/study_counts.hpp"
#include "hpo/guard/learned/named_law.hpp"

namespace hpo::analysis {

/// How good the predictions of one source were.
struct CalibrationRow {
    std::string source;              ///< the source: dry_run, probe, formula, limit
    double claimed = 0;              ///< the guard's probability that the prediction suffices; 0: not claimed
    std::size_t attempts = 0;        ///< with a prediction, and a need that is known or has a known lower bound
    std::size_t ran_out = 0;         ///< of these, the ones that ran out of memory by themselves
    std::size_t underestimated = 0;  ///< of these, the ones that needed more than predicted
    std::optional<double> low;       ///< 0.05 quantile of measured / predicted before the guard's margin, for attempts that ended
    std::optional<double> median;
    std::optional<double> high;  ///< 0.95 quantile

    [[nodiscard]] double underestimate_rate() const { return static_cast<double>(underestimated) / static_cast<double>(attempts); }
};

/// One row for each source and claimed confidence. The most used comes first.
[[nodiscard]] std::vector<CalibrationRow> calibration_table(std::span<const PredictedUse> uses);

/// A trial's highest use of its device.
struct TrialUse {
    const Trial* trial = nullptr;
    std::int64_t bytes = 0;
    bool ran_out = false;     ///< ran out of memory, and no later attempt ran
    bool needs_more = false;  ///< ran out of memory by itself: it needs more than `bytes`
    bool recovered = false;   ///< ran out of memory, and a later attempt ran
};

/// The attempt that used so much, or the last one if none is known to have. Null for a trial of another program.
[[nodiscard]] const Attempt* attempt_of(const TrialUse& use);

/// An attempt whose process still held memory after it (worker/leak_watch.hpp).
struct LeakUse {
    const Trial* trial = nullptr;
    int attempt = 0;
    std::int64_t bytes = 0;
};

/// The answers of `hpo-analyze memory`.
struct MemoryReport {
    std::optional<std::int64_t> capacity_bytes;  ///< what guards compared predictions with, or else the usual device's
    std::vector<std::string> devices;            ///< names of the devices that attempts ran on
    /// The capacity of each device by its word ("cuda:1"), in bytes, if attempts ran on devices of different capacity. Else empty.
    std::map<std::string, std::int64_t> capacities;
    std::vector<std::int64_t> other_capacities;  ///< that attempts had in other runs, the largest first; empty if `capacities` is not
    StudyCounts counts;
    std::size_t measured_trials = 0;          ///< trials whose peak is known
    std::size_t predicted_attempts = 0;       ///< attempts that were launched with a prediction
    std::vector<PredictedUse> uses;           ///< the predicted attempts whose need is known
    std::vector<CalibrationRow> calibration;  ///< empty if there is no prediction to compare
    std::vector<TrialUse> top;                ///< measured trials, the highest first
    std::optional<TrialUse> highest;          ///< the trial that used most of its device and did not run out of memory
    std::optional<std::int64_t> limit_bytes;  ///< the limit that the caller asked about
    std::vector<TrialUse> above_limit;        ///< the highest first
    std::optional<SafeRegion> safe;  ///< where no trial needs more than the limit or, without a limit, ran out of memory or was refused
    std::size_t neither_safe_nor_not = 0;  ///< trials that ran out of memory, but not by themselves: `safe` does not count them
    std::size_t refused_before_launch = 0;
    std::size_t silent_failures = 0;  ///< trials that failed without a message, perhaps out of memory
    std::vector<LeakUse> leaks;       ///< the largest first
    /// What peaks follow, by the name of the device, if the guard learned them from the study's own trials.
    std::map<std::string, guard::NamedLaw> laws;

    /// The capacity of the device that the attempt of this use ran on, in bytes.
    [[nodiscard]] std::optional<std::int64_t> capacity_of(const TrialUse& use) const {
        const Attempt* const attempt = attempt_of(use);
        if (attempt && attempt->capacity_bytes) return attempt->capacity_bytes;
        if (capacities.empty() || !attempt) return capacity_bytes;
        const auto found = capacities.find(attempt->plan.device);
        return found == capacities.end() ? capacity_bytes : std::optional{found->second};
    }
    /// The share of its device that a trial used. It is above 1 for a trial that needs more.
    [[nodiscard]] std::optional<double> share_of(const TrialUse& use) const {
        const auto capacity = capacity_of(use);
        if (!capacity || *capacity <= 0) return std::nullopt;
        return static_cast<double>(use.bytes) / static_cast<double>(*capacity);
    }
    /// The largest share of its device that a trial used without running out of memory. At most 1.
    [[nodiscard]] std::optional<double> highest_share() const {
        const auto share = highest ? share_of(*highest) : std::nullopt;
        return share ? std::optional{std::min(1.0, *share)} : std::nullopt;
    }
    /// The memory that the highest fitting trial left free on its device.
    [[nodiscard]] std::optional<std::int64_t> headroom_bytes() const {
        const auto capacity = highest ? capacity_of(*highest) : std::nullopt;
        return capacity ? std::optional{std::max<std::int64_t>(0, *capacity - highest->bytes)} : std::nullopt;
    }
};

/// A limit in bytes or as a share of the device.
struct MemoryLimit {
    std::optional<std::int64_t> bytes;
    std::optional<double> share;
};

/// Reports how much of its device a study used, and how well that was predicted. Pointers in the report refer into `trials`.
[[nodiscard]] MemoryReport memory_report(std::span<const Trial> trials, std::span<const Rejection> rejections, const MemoryLimit& limit);

}  // namespace hpo::analysis
