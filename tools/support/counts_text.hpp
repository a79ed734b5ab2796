// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include "hpo/analysis/study_counts.hpp"

namespace hpo::tools {

/// "5 complete, 2 pruned, 1 interrupted; 1 of them infeasible": how many trials stand how, in the words of all tools; "no trial yet".
[[nodiscard]] std::string states_text(const analysis::StudyCounts& counts);
/// "3 attempts out of memory, 2 trials recovered; 1 trial recovered from other failures", and how many attempts may have been out of
/// memory, too, without a word.
[[nodiscard]] std::string oom_text(const analysis::StudyCounts& counts);
/// How the killed attempts ended, as far as it is known: "2 attempts were ended by SIGKILL, which hpo did not send, 1 attempt was lost
/// because its run is gone".
[[nodiscard]] std::string killed_text(const analysis::StudyCounts& counts);

}  // namespace hpo::tools
