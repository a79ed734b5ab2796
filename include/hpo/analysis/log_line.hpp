// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// A line of Optuna's about the end of a trial: "[W 2026-01-31 12:00:00,123] Trial 7 failed with parameters: {...} because of the following
/// error: ...".
struct LogEvent {
    std::size_t line = 0;                      ///< counted from 1
    std::optional<std::int64_t> microseconds;  ///< since the epoch by the log's own clock, as if that were UTC
    std::int64_t trial = 0;
    TrialState state = TrialState::fail;  ///< that the line says
    std::optional<std::string> params;    ///< as Python shows a dictionary
    std::string error;                    ///< of a failed one
    std::string traceback;
};

namespace detail {

/// The line without the escape sequences of terminals.
[[nodiscard]] std::string without_escapes(std::string_view line);

/// The first moment in a line, "2026-01-31 12:00:00,123" with space or T, as microseconds since the epoch if it were UTC.
[[nodiscard]] std::optional<std::int64_t> log_time(std::string_view line);

/// Reads Optuna's words about the end of a trial, of any release since 1.0, wherever they stand in the line.
[[nodiscard]] std::optional<LogEvent> log_event(std::string_view line);

/// The signal that a shell's words about a process name, "Killed" or "x.sh: line 3: 712 Segmentation fault (core dumped) python x.py".
[[nodiscard]] std::optional<std::pair<int, std::string_view>> death_of_process(std::string_view line);

}  // namespace detail

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/log_line_inl.hpp"
#endif
