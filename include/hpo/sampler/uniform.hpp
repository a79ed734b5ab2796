// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/core/seed.hpp"
#include "hpo/space/narrowing.hpp"

namespace hpo::sampler {

/// Draws a value of `distribution` inside `within`, uniformly, or uniformly on the log scale for log parameters. `within` must leave at
/// least one value.
[[nodiscard]] double draw_uniform(const Distribution& distribution, const Narrowing& within, Rng& rng);

}  // namespace hpo::sampler

#ifndef HPO_COMPILED
#include "hpo/sampler/impl/uniform_inl.hpp"
#endif
