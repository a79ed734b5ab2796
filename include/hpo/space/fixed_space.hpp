// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/space/fixed_uses.hpp"
#include "hpo/space/space_trial.hpp"

namespace hpo {

/// A narrowing of the distribution to one internal value.
[[nodiscard]] Narrowing narrowed_to(const Distribution& distribution, double internal);

/// The part of a space that has the fixed values. Each fixed parameter has one value. A proposal of a branch without this value ends with
/// OutsideFixed. `uses` must outlive the result.
[[nodiscard]] Space with_fixed(Space space, FixedUses& uses);

}  // namespace hpo
