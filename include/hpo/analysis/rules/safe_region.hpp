// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

#include "hpo/analysis/regions/condition.hpp"
#include "hpo/analysis/regions/region_learner.hpp"

namespace hpo::analysis {

/// A region of the parameters in which no trial needed too much.
struct SafeRegion {
    Region region;           ///< if empty, the whole space
    std::size_t trials = 0;  ///< the number of trials in it
    /// The upper bound, with 95 % confidence, of the share of trials in it that need too much. It assumes independent draws: the rule of
    /// three (Hanley and Lippman-Hand 1983).
    [[nodiscard]] double rate_bound() const { return trials == 0 ? 1 : std::min(1.0, 3.0 / static_cast<double>(trials)); }
};

/// Finds a large region without any positive example. It adds up to four conditions greedily. Each keeps out the most positives for each
/// other example that is lost. Conditions that turn out not to be needed are removed again. Returns nullopt if fewer than six examples
/// remain, or if positives remain. Deterministic.
[[nodiscard]] std::optional<SafeRegion> safe_region(std::span<const Example> examples);

}  // namespace hpo::analysis
