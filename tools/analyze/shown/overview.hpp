// SPDX-License-Identifier: MIT
#pragma once

#include "analyze/shown/input.hpp"

namespace hpo::analyze {

/// What an overview counts. The command of this name tells all about one study.
enum class Overview { oom, failures };

/// True if no study is named and the store has several.
[[nodiscard]] bool asks_for_overview(const Query& query);

/// Prints a line for each study of the store, the one to look at first on top, and the command that tells all about it.
void print_overview(const Query& query, Overview of);

}  // namespace hpo::analyze
