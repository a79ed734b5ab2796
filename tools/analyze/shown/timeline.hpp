// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/core/trial.hpp"
#include "support/text.hpp"

namespace hpo::analyze {

/// What an attempt held over time: one line of bars, each the most that was seen in its part of the time, and the named marks as a table.
/// Samples of the training are in the bars alone. Nothing for an attempt without marks.
void print_timeline(const hpo::tools::Page& page, const hpo::Attempt& attempt);

}  // namespace hpo::analyze
