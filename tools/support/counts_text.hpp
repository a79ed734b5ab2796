// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "hpo/analysis/study_counts.hpp"

namespace hpo::tools {

/// "5 complete, 2 pruned, 1 interrupted; 1 infeasible": how many trials stand how, in the words of all tools; "no trial yet".
[[nodiscard]] std::string states_text(const analysis::StudyCounts& counts);
/// "3 attempts out of memory, 2 trials recovered".
[[nodiscard]] std::string oom_text(const analysis::StudyCounts& counts);

}  // namespace hpo::tools
