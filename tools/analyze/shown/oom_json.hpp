// SPDX-License-Identifier: MIT
#pragma once

#include "analyze/shown/input.hpp"
#include "hpo/analysis/oom.hpp"
#include "support/json.hpp"

namespace hpo::analyze {

/// The report as `hpo-analyze oom --json` prints it (docs/development/post-mortem-json.md).
[[nodiscard]] hpo::tools::Json oom_json(const StudyData& data, const hpo::analysis::OomReport& report);

}  // namespace hpo::analyze
