// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "hpo/analysis/failure_cases/failure_case.hpp"
#include "hpo/analysis/silent_failures/pace.hpp"

namespace hpo::analysis {

/// What the stored data of a trial show if it failed without a message. Each pattern is a fact. It only suggests a cause.
enum class SilentPattern {
    vanished,       ///< Optuna gave it up: its process gave no sign of life
    last_report,    ///< its last report is NaN or infinite
    time_limit,     ///< it ended after the same time as others, with reports, or after longer than complete trials take
    in_a_row,       ///< it failed at once in a long run of trials that all did, whatever their parameters
    together,       ///< set to FAIL in the same second as other trials that ran at the same time
    before_params,  ///< it ended before it asked for a parameter
    at_once,        ///< it ended before a report, far sooner than complete trials
    as_long,        ///< it ran as long as complete trials do, or reported as far
    longer,         ///< it ran longer than any complete trial
    between,        ///< it ended at another point
    untimed,        ///< its times, or those of complete trials, are not known
};

inline constexpr std::array<std::string_view, 11> silent_pattern_names{
    "vanished", "last_report", "time_limit", "in_a_row", "together", "before_params", "at_once", "as_long", "longer", "between", "untimed"};
[[nodiscard]] constexpr std::string_view to_text(SilentPattern pattern) { return silent_pattern_names[static_cast<std::size_t>(pattern)]; }

/// A trial that failed without a message, with its stored figures.
struct SilentFailure {
    const Trial* trial = nullptr;
    SilentPattern pattern = SilentPattern::untimed;
    std::optional<double> seconds;            ///< how long it ran
    std::optional<std::int64_t> repeated_by;  ///< the trial that Optuna began in its place
    std::vector<std::int64_t> together_with;  ///< trials that were set to FAIL in the same second, at most 20
    std::size_t run = 0;                      ///< for in_a_row: how many failed one after the other
    bool before_any_complete = false;         ///< it began before the first trial completed
    std::optional<double> next_after;         ///< seconds until its process began the next trial; only if no other trial ran meanwhile
};

/// What the stored data show about the trials that failed without a message, in their order. `pace` is that of the trials with a result.
[[nodiscard]] std::vector<SilentFailure> silent_failures(std::span<const FailureCase> cases, std::span<const Trial> trials,
                                                         const Pace& pace);

}  // namespace hpo::analysis
