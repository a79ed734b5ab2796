// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/analysis/failure_cases/told_failure.hpp"
#include "hpo/analysis/logs/program_log.hpp"

namespace hpo::analysis {

/// What a log says about a study.
struct LogMatch {
    ToldFailures told;
    std::vector<bool> event_matched;  ///< for each line about the end of a trial, whether it belongs to a trial of the study
    [[nodiscard]] std::size_t matched_events() const { return static_cast<std::size_t>(std::ranges::count(event_matched, true)); }
    std::size_t matched_shown = 0;            ///< lines of the program's own that show the parameters of a trial of the study
    std::optional<std::int64_t> clock_ahead;  ///< microseconds by which the log's clock is ahead of the store's (time zones)
    std::vector<std::string> unmatched;       ///< parts that belong to no trial, each with the reason
    std::size_t unmatched_memory = 0;         ///< lines about memory that belong to no known trial, or may only mention it
    std::size_t unmatched_kills = 0;          ///< lines that say that a process was killed, of no known trial
};

}  // namespace hpo::analysis

namespace hpo::analysis::detail {

/// True if the dictionary in a log has exactly the trial's parameters with their values. Values under names with quotes or backslashes are
/// not compared.
[[nodiscard]] bool shows_params(std::string_view shown, const ParamSet& params);

/// The failure of an event, with its traceback.
[[nodiscard]] Failure failure_of(const LogEvent& event);

/// True if the event tells `failure`: the trial failed, or it was pruned and the text of its exception is about memory or the device.
[[nodiscard]] bool tells_failure(const LogEvent& event, const Failure& failure);

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

/// Matches a log with the trials of a study. What cannot be matched goes into `unmatched`. Failures of earlier logs in `told` stay.
void match_log(const ProgramLog& log, std::span<const Trial> trials, LogMatch& match);

}  // namespace hpo::analysis
