// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analyze/shown/objectives.hpp"
#include "hpo/analysis/silent_failures/silent_report.hpp"
#include "support/json.hpp"
#include "support/text.hpp"

namespace hpo::analyze {

/// What the row of one trial that failed without a message shows, and what that suggests, as one or two sentences without the last stop.
[[nodiscard]] std::string silent_text(const hpo::analysis::SilentFailure& entry, const hpo::analysis::SilentReport& report);

/// The same of any trial that ended without a word, or not at all; empty for one that did not.
[[nodiscard]] std::string row_text(const hpo::analysis::SilentReport& report, const hpo::Trial& trial);

inline constexpr std::string_view failed_words = "ended badly without a known cause";
inline constexpr std::string_view pruned_words = "were pruned before a report";

/// Where such trials are dense, as sentences without the last stop. `ended` says how they ended.
[[nodiscard]] std::string region_text(const hpo::analysis::FailureRegion& region, std::string_view ended);

/// The section on failures without a message, on trials that never ended and on those that were pruned without a report. Nothing for an
/// empty report.
void print_silent(const hpo::tools::Page& page, const hpo::analysis::SilentReport& report, const Objectives& objectives);

[[nodiscard]] hpo::tools::Json silent_json(const hpo::analysis::SilentReport& report);

}  // namespace hpo::analyze
