// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

namespace hpo::sampler {

/// log(sqrt(2 pi))
inline constexpr double log_sqrt_two_pi = 0.91893853320467274178;

/// log(exp(a) + exp(b)). Infinities are treated as limits.
[[nodiscard]] inline double log_add(double a, double b) {
    const double high = std::max(a, b);
    return std::isinf(high) ? high : high + std::log1p(std::exp(std::min(a, b) - high));
}

/// The logarithm of the standard normal distribution function. Does not underflow, however far to the left x is.
[[nodiscard]] double log_normal_cdf(double x);

/// The logarithm of the standard normal mass of [a, b], a < b. Exact in both tails.
[[nodiscard]] double log_normal_mass(double a, double b);

/// The x with log_normal_cdf(x) = log_p, for log_p <= log(1/2), to about nine digits.
[[nodiscard]] double normal_quantile_of_log(double log_p);

/// The q-quantile, 0 <= q < 1, of a standard normal restricted to [a, b], a < b.
[[nodiscard]] double truncated_normal_quantile(double q, double a, double b);

}  // namespace hpo::sampler

#ifndef HPO_COMPILED
#include "hpo/sampler/impl/truncated_normal_inl.hpp"
#endif
