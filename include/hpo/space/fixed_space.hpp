// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/space/fixed_uses.hpp"
#include "hpo/space/space_trial.hpp"

namespace hpo {

/// One internal value of a distribution, as its narrowing.
[[nodiscard]] Narrowing narrowed_to(const Distribution& distribution, double internal);

/// The part of a space that has the fixed values: each fixed parameter has one value, and a proposal of a branch without it ends with
/// OutsideFixed. `uses` must outlive the result.
[[nodiscard]] Space with_fixed(Space space, FixedUses& uses);

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/space/impl/fixed_space_inl.hpp"
#endif
