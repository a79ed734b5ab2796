// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "hpo/analysis/silent_report.hpp"
#include "support/json.hpp"
#include "support/text.hpp"

namespace hpo_analyze {

/// What the row of one trial that failed without a message shows, and what that suggests, as one or two sentences without the last stop.
[[nodiscard]] std::string silent_text(const hpo::analysis::SilentFailure& entry, const hpo::analysis::Pace& pace);

/// Where failures without a message are dense, as one sentence without the last stop.
[[nodiscard]] std::string region_text(const hpo::analysis::FailureRegion& region);

/// The section on failures without a message, on trials that never ended and on those that were pruned without a report. Nothing for an
/// empty report.
void print_silent(const hpo::tools::Page& page, const hpo::analysis::SilentReport& report);

[[nodiscard]] hpo::tools::Json silent_json(const hpo::analysis::SilentReport& report);

}  // namespace hpo_analyze
