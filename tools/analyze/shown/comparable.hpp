// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyze/shown/input.hpp"

namespace hpo::analyze {

/// Throws bad_value if two of the studies optimise different things: other metrics, opposite directions, or another number of objectives.
/// A study without names may have any metric. `known` are all studies of the store: the error names some that can be compared.
void require_comparable(const std::string& store, std::span<const StudyData> compared, std::span<const hpo::Study> known);

/// What to know before their best values are compared, one sentence or two each: metrics without a name, other trainers, options or data.
[[nodiscard]] std::vector<std::string> comparison_notes(std::span<const StudyData> compared);

}  // namespace hpo::analyze
