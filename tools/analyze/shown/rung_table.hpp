// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "hpo/core/trial.hpp"
#include "hpo/recovery/rungs/rung_record.hpp"
#include "support/json.hpp"
#include "support/text.hpp"

namespace hpo::analyze {

/// What a rung of the recovery policy `ladder` did about one class of failures.
struct RungLine {
    std::string rung;
    hpo::recovery::FailureClass failures;
    hpo::recovery::RungRecord record;
};

/// Each rung that was tried in a finished trial, the failures with most trials first. Empty if no ladder answered.
[[nodiscard]] std::vector<RungLine> rung_lines(const std::vector<hpo::Trial>& trials);
/// Those of memory that ran out.
[[nodiscard]] std::vector<RungLine> memory_rung_lines(const std::vector<hpo::Trial>& trials);

[[nodiscard]] hpo::tools::Json rung_json(const std::vector<RungLine>& lines);

/// Prints nothing without lines.
void print_rungs(const hpo::tools::Page& page, const std::vector<RungLine>& lines);

}  // namespace hpo::analyze
