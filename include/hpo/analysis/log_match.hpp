// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/analysis/program_log.hpp"
#include "hpo/analysis/told_failure.hpp"

namespace hpo::analysis {

/// What a log says about a study.
struct LogMatch {
    ToldFailures told;
    std::size_t events = 0;                   ///< lines about the end of a trial
    std::size_t matched_events = 0;           ///< those that belong to a trial of the study
    std::optional<std::int64_t> clock_ahead;  ///< microseconds that the log's clock is ahead of the store's: time zones
    std::vector<std::string> unmatched;       ///< stretches that belong to no trial, each with the reason
};

namespace detail {

/// True when the dictionary that a log shows has every parameter of the trial with its value, and no other. Values under names with quotes
/// or backslashes are not compared.
[[nodiscard]] bool shows_params(std::string_view shown, const ParamSet& params);

}  // namespace detail

/// Matches what a log says with the trials of a study. What cannot be matched is said in `unmatched`, never guessed. Failures of earlier
/// logs in `told` stay.
void match_log(const ProgramLog& log, std::span<const Trial> trials, LogMatch& match);

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/log_match_inl.hpp"
#endif
