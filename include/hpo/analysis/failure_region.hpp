// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "hpo/analysis/region_learner.hpp"

namespace hpo::analysis {

/// A two by two table: trials inside a region and outside of it, those that failed and all.
struct RegionCounts {
    std::size_t failed_inside = 0;
    std::size_t inside = 0;
    std::size_t failed_outside = 0;
    std::size_t outside = 0;
};

/// The probability that chance alone puts so many of the failures, or more, inside: Fisher's exact test, one-sided (Fisher 1922).
[[nodiscard]] double fisher_probability(const RegionCounts& counts);

/// A region of the parameters in which trials fail far more often than chance allows.
struct FailureRegion {
    Region region;
    RegionCounts counts;
    std::size_t tried = 0;   ///< regions that were tried
    double probability = 1;  ///< that chance shows any of those so clearly: Bonferroni's correction of the exact test

    [[nodiscard]] double rate_inside() const { return static_cast<double>(counts.failed_inside) / static_cast<double>(counts.inside); }
};

/// The region of one condition or two, on parameters that memory can depend on, in which failures are least explained by chance; nothing
/// when no region stays below `level` after the correction for all that were tried. It is what an out-of-memory looks like, and no proof of
/// one.
[[nodiscard]] std::optional<FailureRegion> failure_region(std::span<const Example> examples, double level = 0.01);

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/failure_region_inl.hpp"
#endif
