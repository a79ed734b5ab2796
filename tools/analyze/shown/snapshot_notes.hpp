// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "analyze/shown/snapshot_report.hpp"

namespace hpo::analyze {

/// What a reader should know of a recording and of its replay: sentences, the most important first.
[[nodiscard]] std::vector<std::string> snapshot_notes(const SnapshotReport& report);

}  // namespace hpo::analyze
