// SPDX-License-Identifier: MIT
#pragma once

namespace hpo::memory {

/// phi(a) / (1 - Phi(a)) of the standard normal: the density at `a` given that one is beyond it; E[x | x > a].
[[nodiscard]] double normal_hazard(double a);

/// The standard normal's quantile, for probabilities strictly between 0 and 1. Exact to 1e-9 between 1e-12 and 1 - 1e-12.
[[nodiscard]] double normal_quantile(double probability);

/// Student's quantile with `freedom` degrees, at least 3, by the expansion around the normal (Abramowitz and Stegun 26.7.5): for 3 degrees
/// 1.5 % low at 0.99, for 5 and more below 0.5 %.
[[nodiscard]] double student_quantile(double probability, double freedom);

}  // namespace hpo::memory

#ifndef HPO_COMPILED
#include "hpo/memory/impl/normal_tail_inl.hpp"
#endif
