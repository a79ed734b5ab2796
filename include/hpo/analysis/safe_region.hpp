// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

#include "hpo/analysis/condition.hpp"
#include "hpo/analysis/region_learner.hpp"

namespace hpo::analysis {

/// A region of the parameters in which no trial needed too much.
struct SafeRegion {
    Region region;           ///< no condition: everywhere
    std::size_t trials = 0;  ///< in it
    /// What the share of trials in it that need too much is below with 95 % confidence, were they drawn independently: the rule of three
    /// (Hanley and Lippman-Hand 1983).
    [[nodiscard]] double rate_bound() const { return trials == 0 ? 1 : std::min(1.0, 3.0 / static_cast<double>(trials)); }
};

/// Finds a large region without any positive example: greedily the condition that keeps out the most positives for each other example
/// that is lost, at most four, of which those that turn out not to be needed are left out again. Nothing where fewer than six examples
/// remain. Deterministic.
[[nodiscard]] std::optional<SafeRegion> safe_region(std::span<const Example> examples);

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/safe_region_inl.hpp"
#endif
