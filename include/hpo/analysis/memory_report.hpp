// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/analysis/calibration.hpp"
#include "hpo/analysis/safe_region.hpp"
#include "hpo/analysis/silent_failure.hpp"
#include "hpo/analysis/study_counts.hpp"

namespace hpo::analysis {

/// A trial's highest use of its device.
struct TrialUse {
    const Trial* trial = nullptr;
    std::int64_t bytes = 0;
    bool ran_out = false;     ///< out of memory, and no later attempt ran
    bool needs_more = false;  ///< ran out by its own doing: it needs more than `bytes`
    bool recovered = false;   ///< out of memory, and a later attempt ran
};

/// An attempt after which its process still held memory (worker/leak_watch.hpp).
struct LeakUse {
    const Trial* trial = nullptr;
    int attempt = 0;
    std::int64_t bytes = 0;
};

/// The answers of `hpo-analyze memory`.
struct MemoryReport {
    std::optional<std::int64_t> capacity_bytes;  ///< that guards held predictions against, else of the usual device
    std::vector<std::string> devices;            ///< names of the devices that attempts ran on
    StudyCounts counts;
    std::size_t measured_trials = 0;          ///< whose peak is known
    std::size_t predicted_attempts = 0;       ///< launched with a prediction
    std::vector<PredictedUse> uses;           ///< of those the ones whose need is known
    std::vector<CalibrationRow> calibration;  ///< empty: nothing to hold against each other
    std::vector<TrialUse> top;                ///< measured trials, the highest first
    std::optional<TrialUse> highest;          ///< of all that did not run out of memory
    std::optional<std::int64_t> limit_bytes;  ///< that was asked about
    std::vector<TrialUse> above_limit;        ///< from the highest
    std::optional<SafeRegion> safe;           ///< where no trial needs more than the limit, or without one: ran out of memory
    std::size_t neither_safe_nor_not = 0;     ///< trials that ran out of memory, but not of their own doing: in no count of `safe`
    std::size_t refused_before_launch = 0;
    std::size_t silent_failures = 0;  ///< trials that failed without a message: out of memory, perhaps
    std::vector<LeakUse> leaks;       ///< the largest first

    /// Of the device; above 1 for what needs more, and for what ran when there was more.
    [[nodiscard]] std::optional<double> share_of(std::int64_t bytes) const {
        if (!capacity_bytes || *capacity_bytes <= 0) return std::nullopt;
        return static_cast<double>(bytes) / static_cast<double>(*capacity_bytes);
    }
    /// Largest share of the device that was ever used without running out. All of it where more was: another run's budget was larger.
    [[nodiscard]] std::optional<double> highest_share() const {
        const auto share = highest ? share_of(highest->bytes) : std::nullopt;
        return share ? std::optional{std::min(1.0, *share)} : std::nullopt;
    }
    /// What the highest peak of a trial that fitted left of the device.
    [[nodiscard]] std::optional<std::int64_t> headroom_bytes() const {
        if (!highest || !capacity_bytes) return std::nullopt;
        return std::max<std::int64_t>(0, *capacity_bytes - highest->bytes);
    }
};

/// A limit in bytes, or as a share of the device.
struct MemoryLimit {
    std::optional<std::int64_t> bytes;
    std::optional<double> share;
};

/// Answers what a study used of its device and how well that was predicted. Pointers in the report refer into `trials`.
[[nodiscard]] MemoryReport memory_report(std::span<const Trial> trials, std::span<const Rejection> rejections, const MemoryLimit& limit);

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/memory_report_inl.hpp"
#endif
