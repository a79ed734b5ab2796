// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// A trial of another program that was pruned without a report. No pruner can have judged it, so the program gave it up. It may have caught
/// an out-of-memory.
struct UnreportedPrune {
    const Trial* trial = nullptr;
    std::optional<double> seconds;
    std::optional<double> neighbour_seconds;  ///< the median of its neighbours' times, if it took longer
};

/// Finds trials that were PRUNED without a report. A trial's neighbours are the ten nearest trials by number that completed or were pruned
/// after a report. They are used only in studies whose trials report. `known` are the trials whose failure is known.
[[nodiscard]] std::vector<UnreportedPrune> unreported_prunes(std::span<const Trial> trials, const std::set<const Trial*>& known);

}  // namespace hpo::analysis
