// SPDX-License-Identifier: MIT
#pragma once

namespace hpo::guard {

/// phi(a) / (1 - Phi(a)) of the standard normal distribution. It equals E[x | x > a].
[[nodiscard]] double normal_hazard(double a);

/// The quantile of Student's distribution with `freedom` degrees, at least 3. The expansion around the normal distribution (Abramowitz and
/// Stegun 26.7.5) is the start of Newton's method. Exact to 1e-8 between 1e-9 and 1 - 1e-9.
[[nodiscard]] double student_quantile(double probability, double freedom);

}  // namespace hpo::guard
