// SPDX-License-Identifier: MIT
#include "hpo/guard/calibration/normal_tail.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "hpo/base/normal_quantile.hpp"

namespace hpo::guard {
namespace student {

/// The regularised incomplete beta function I_x(a, b), by its continued fraction (Abramowitz and Stegun 26.5.8) with Lentz's method. It
/// converges fast for x below (a + 1) / (a + b + 2).
[[nodiscard]] double incomplete_beta(double x, double a, double b) {
    constexpr double tiny = 1e-300;
    constexpr int most_terms = 500;
    const auto nonzero = [](double value) { return std::abs(value) < tiny ? tiny : value; };
    double c = 1;
    double d = 1 / nonzero(1 - (a + b) * x / (a + 1));
    double fraction = d;
    for (int m = 1; m <= most_terms; ++m) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double change = 1;
        for (const double term : {even, odd}) {
            d = 1 / nonzero(1 + term * d);
            c = nonzero(1 + term / c);
            change = c * d;
            fraction *= change;
        }
        if (std::abs(change - 1) < 1e-15) break;
    }
    const double log_front = a * std::log(x) + b * std::log1p(-x) - std::lgamma(a) - std::lgamma(b) + std::lgamma(a + b);
    return std::exp(log_front) / a * fraction;
}

/// The probability that Student's distribution is above t > 0.
[[nodiscard]] double tail_above(double t, double freedom) {
    const double x = freedom / (freedom + t * t);
    const double a = freedom / 2;
    return x < (a + 1) / (a + 2.5) ? incomplete_beta(x, a, 0.5) / 2 : (1 - incomplete_beta(t * t / (freedom + t * t), 0.5, a)) / 2;
}

}  // namespace student

double normal_hazard(double a) {
    if (a > 30) return a + 1 / a;  // the tail is too small for a double here; this expansion has an error below 1e-4
    const double density = std::exp(-0.5 * a * a) / std::sqrt(2 * std::numbers::pi);
    return density / (0.5 * std::erfc(a / std::numbers::sqrt2));
}

double student_quantile(double probability, double freedom) {
    if (probability < 0.5) return -student_quantile(1 - probability, freedom);
    const double z = normal_quantile(probability);
    const double q = z * z;
    const double n = std::max(freedom, 3.0);
    const double first = (q + 1) / 4;
    const double second = ((5 * q + 16) * q + 3) / 96;
    const double third = (((3 * q + 19) * q + 17) * q - 15) / 384;
    const double fourth = ((((79 * q + 776) * q + 1482) * q - 1920) * q - 945) / 92160;
    double t = z * (1 + (first + (second + (third + fourth / n) / n) / n) / n);
    constexpr double nearly_normal = 1000;
    if (t <= 0 || n > nearly_normal) return t;
    // Newton's method on the logarithm of the tail, as a function of the logarithm of t: nearly a line far out.
    const double log_norm = std::lgamma((n + 1) / 2) - std::lgamma(n / 2) - 0.5 * std::log(n * std::numbers::pi);
    for (int step = 0; step < 20; ++step) {
        const double tail = student::tail_above(t, n);
        const double density = std::exp(log_norm - 0.5 * (n + 1) * std::log1p(t * t / n));
        const double change = std::log(tail / (1 - probability)) * tail / (t * density);
        t *= std::exp(change);
        if (std::abs(change) < 1e-12) break;
    }
    return t;
}

}  // namespace hpo::guard
