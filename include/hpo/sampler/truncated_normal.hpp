// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

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

/// The x whose standard normal probability of being less is p, 0 < p < 1. To about 1e-15 of x: algorithm AS 241, PPND16 (Wichura 1988).
[[nodiscard]] double normal_quantile(double p);

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

inline double normal_quantile(double p) {
    const auto ratio = [](double at, const std::array<double, 8>& above, const std::array<double, 8>& below) {
        double numerator = 0, denominator = 0;
        for (std::size_t i = 8; i-- > 0;) {
            numerator = numerator * at + above[i];
            denominator = denominator * at + below[i];
        }
        return numerator / denominator;
    };
    const double from_middle = p - 0.5;
    if (std::fabs(from_middle) <= 0.425) {
        return from_middle * ratio(0.180625 - from_middle * from_middle,
                                   {3.3871328727963666080, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
                                    4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3},
                                   {1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
                                    3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3});
    }
    const double r = std::sqrt(-std::log(from_middle < 0 ? p : 1 - p));
    const double x =
        r <= 5 ? ratio(r - 1.6,
                       {1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
                        1.27045825245236838258, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4},
                       {1, 2.05319162663775882187, 1.67638483018380384940, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
                        1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9})
               : ratio(r - 5,
                       {6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580, 2.96560571828504891230e-1,
                        2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7},
                       {1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4,
                        1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15});
    return from_middle < 0 ? -x : x;
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
