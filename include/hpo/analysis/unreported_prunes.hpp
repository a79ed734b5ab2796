// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// A trial of another program that was pruned without a report: no pruner can have judged it, so the program gave it up. It may have caught
/// an out-of-memory.
struct UnreportedPrune {
    const Trial* trial = nullptr;
    std::optional<double> seconds;
    std::optional<double> neighbour_seconds;  ///< if it took longer than its neighbours by number: their median
};

/// Finds trials that were PRUNED without a report. The neighbours of one are the ten trials next to it by number that completed, or were
/// pruned after a report; they are looked at in studies whose trials report. `known` are the trials whose failure is known.
[[nodiscard]] std::vector<UnreportedPrune> unreported_prunes(std::span<const Trial> trials, const std::set<const Trial*>& known);

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/unreported_prunes_inl.hpp"
#endif
