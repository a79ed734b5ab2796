// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "hpo/analysis/regions/region_learner.hpp"

namespace hpo::analysis {

/// A two-by-two table of trials: failed and all, inside a region and outside of it.
struct RegionCounts {
    std::size_t failed_inside = 0;
    std::size_t inside = 0;
    std::size_t failed_outside = 0;
    std::size_t outside = 0;
};

/// The probability that chance alone puts at least as many of the failures inside. This is Fisher's exact test, one-sided (Fisher 1922).
[[nodiscard]] double fisher_probability(const RegionCounts& counts);

/// A region of the parameters in which trials fail far more often than chance allows.
struct FailureRegion {
    Region region;
    RegionCounts counts;
    std::size_t tried = 0;   ///< number of regions that were tried
    double probability = 1;  ///< that chance shows any of these as clearly (exact test with Bonferroni's correction)

    [[nodiscard]] double rate_inside() const { return static_cast<double>(counts.failed_inside) / static_cast<double>(counts.inside); }
};

/// The region in which chance explains the failures least. It has one or two conditions on parameters that memory can depend on. Returns
/// nullopt if no region stays below `level` after the correction for all regions tried.
[[nodiscard]] std::optional<FailureRegion> failure_region(std::span<const Example> examples, double level = 0.01);

/// True if failures in this region look like an out-of-memory: it is bounded by something that needs more memory, a larger size or another
/// model. That is no proof of one.
[[nodiscard]] bool looks_like_memory(const Region& region);

}  // namespace hpo::analysis
