// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "analyze/shown/snapshot_report.hpp"
#include "support/json.hpp"

namespace hpo::analyze {

/// A report for a program.
[[nodiscard]] hpo::tools::Json snapshot_json(const SnapshotReport& report, const SnapshotOptions& options);

/// One table of a report on standard output, as CSV: "settings", "holders" or "timeline".
void print_snapshot_csv(const SnapshotReport& report, const std::string& table);

/// The frames of a stack in one line, the innermost first.
[[nodiscard]] std::string stack_text(const StackShare& share);

}  // namespace hpo::analyze
