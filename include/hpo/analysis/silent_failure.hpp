// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "hpo/analysis/failure_case.hpp"

namespace hpo::analysis {

/// What the row of a trial that failed without a message looks like. Each is a fact; what it suggests is no more than a suspicion.
enum class SilentPattern {
    vanished,       ///< Optuna gave it up: its process gave no sign of life
    last_report,    ///< its last report is NaN or infinite
    together,       ///< set to FAIL in the same second as others that ran beside it
    before_params,  ///< it ended before it asked for a parameter
    at_once,        ///< it ended before a report, far sooner than complete trials
    as_long,        ///< it ran as long as complete trials do, or reported as far
    between,        ///< it ended somewhere on the way
    untimed,        ///< its times, or those of complete trials, are not known
};

inline constexpr std::array<std::string_view, 8> silent_pattern_names{"vanished", "last_report", "together", "before_params",
                                                                      "at_once",  "as_long",     "between",  "untimed"};
[[nodiscard]] constexpr std::string_view to_text(SilentPattern pattern) { return silent_pattern_names[static_cast<std::size_t>(pattern)]; }

/// A trial that failed without a message, with the figures of its row.
struct SilentFailure {
    const Trial* trial = nullptr;
    SilentPattern pattern = SilentPattern::untimed;
    std::optional<double> seconds;            ///< that it ran
    std::optional<std::int64_t> repeated_by;  ///< the trial that Optuna began in its place
    std::vector<std::int64_t> together_with;  ///< those that were set to FAIL in the same second, 20 at most
    bool before_any_complete = false;         ///< it began before the first trial completed
    std::optional<double> next_after;         ///< seconds until the next trial of its process began, where nothing else ran meanwhile
};

/// What the rows show of the trials that failed without a message, in their order.
[[nodiscard]] std::vector<SilentFailure> silent_failures(std::span<const FailureCase> cases, std::span<const Trial> trials);

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/silent_failure_inl.hpp"
#endif
