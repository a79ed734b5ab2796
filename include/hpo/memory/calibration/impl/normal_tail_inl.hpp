// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "hpo/base/inline.hpp"
#include "hpo/memory/calibration/normal_tail.hpp"

namespace hpo::memory::inline calibration {

HPO_INLINE double normal_hazard(double a) {
    if (a > 30) return a + 1 / a;  // the tail is too small for a double here; this expansion has an error below 1e-4
    const double density = std::exp(-0.5 * a * a) / std::sqrt(2 * std::numbers::pi);
    return density / (0.5 * std::erfc(a / std::numbers::sqrt2));
}

HPO_INLINE double normal_quantile(double probability) {
    if (probability > 0.5) return -normal_quantile(1 - probability);
    // The start value is a rational approximation (Abramowitz and Stegun 26.2.23). Halley's method on the tail refines it.
    const double root = std::sqrt(-2 * std::log(probability));
    double x = -(root - (2.515517 + root * (0.802853 + root * 0.010328)) / (1 + root * (1.432788 + root * (0.189269 + root * 0.001308))));
    for (int step = 0; step < 3; ++step) {
        const double error = 0.5 * std::erfc(-x / std::numbers::sqrt2) - probability;
        const double newton = error * std::sqrt(2 * std::numbers::pi) * std::exp(0.5 * x * x);
        x -= newton / (1 + 0.5 * x * newton);
    }
    return x;
}

HPO_INLINE double student_quantile(double probability, double freedom) {
    const double z = normal_quantile(probability);
    const double q = z * z;
    const double n = std::max(freedom, 3.0);
    const double first = (q + 1) / 4;
    const double second = ((5 * q + 16) * q + 3) / 96;
    const double third = (((3 * q + 19) * q + 17) * q - 15) / 384;
    const double fourth = ((((79 * q + 776) * q + 1482) * q - 1920) * q - 945) / 92160;
    return z * (1 + (first + (second + (third + fourth / n) / n) / n) / n);
}

}  // namespace hpo::memory::calibration
