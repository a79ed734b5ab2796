// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "hpo/base/normal_quantile.hpp"

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

inline double log_normal_cdf(double x) {
    if (x > 6) return std::log1p(-0.5 * std::erfc(x / std::numbers::sqrt2));
    if (x > -30) return std::log(0.5 * std::erfc(-x / std::numbers::sqrt2));
    if (std::isinf(x)) return x;
    // The asymptotic series of the Mills ratio. Below -30, five terms leave an error of 1e-14.
    const double r = 1 / (x * x);
    return -0.5 * x * x - std::log(-x) - log_sqrt_two_pi + std::log1p(-r * (1 - 3 * r * (1 - 5 * r * (1 - 7 * r * (1 - 9 * r)))));
}

inline double log_normal_mass(double a, double b) {
    const auto left_tail = [](double low, double high) {
        const double log_high = log_normal_cdf(high);
        return log_high + std::log1p(-std::exp(log_normal_cdf(low) - log_high));
    };
    if (b <= 0) return left_tail(a, b);
    if (a >= 0) return left_tail(-b, -a);
    // Beyond 9 a tail is about 1e-19, too small to change a 1. Most kernels are that far from an edge.
    const auto tail = [](double x) { return x > 9 ? 0.0 : 0.5 * std::erfc(x / std::numbers::sqrt2); };
    return std::log1p(-tail(-a) - tail(b));
}

inline double normal_quantile_of_log(double log_p) {
    // Newton's method: log_normal_cdf is concave, so after one step it converges to the root from the left.
    double x = log_p < -5 ? -std::sqrt(-2 * (log_p + log_sqrt_two_pi))
                          : -std::numbers::sqrt3 / std::numbers::pi * std::log(std::expm1(-log_p));  // logistic approximation
    for (int i = 0; i < 50; ++i) {
        const double log_cdf = log_normal_cdf(x);
        const double change = (log_cdf - log_p) * std::exp(log_cdf + 0.5 * x * x + log_sqrt_two_pi);
        x -= change;
        if (std::fabs(change) <= 1e-9 * std::max(1.0, std::fabs(x))) break;
    }
    return x;
}

inline double truncated_normal_quantile(double q, double a, double b) {
    if (a <= 0 && b >= 0) {  // the middle is inside, so nothing underflows
        const double left = 0.5 * std::erfc(-a / std::numbers::sqrt2);
        const double right = 0.5 * std::erfc(b / std::numbers::sqrt2);
        const double below = left + q * (1 - left - right);
        const double above = right + (1 - q) * (1 - left - right);
        if (below <= 0 || above <= 0) return below <= 0 ? a : b;
        return std::clamp(below <= above ? normal_quantile(below) : -normal_quantile(above), a, b);
    }
    const double log_mass = log_normal_mass(a, b);
    const double log_left = log_add(log_normal_cdf(a), std::log(q) + log_mass);
    const double x = log_left <= -std::numbers::ln2
                         ? normal_quantile_of_log(log_left)
                         : -normal_quantile_of_log(std::min(-std::numbers::ln2, log_add(log_normal_cdf(-b), std::log1p(-q) + log_mass)));
    return std::clamp(x, a, b);
}

}  // namespace hpo::sampler
