// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "hpo/core/distribution.hpp"

namespace hpo {

/// The part of a distribution that a script allows in this trial. The distribution itself does not change. So a parameter has one
/// distribution in a study, however a trial narrows it.
struct Narrowing {
    double low = -std::numeric_limits<double>::infinity();  ///< inclusive, internal representation
    double high = std::numeric_limits<double>::infinity();  ///< inclusive
    std::vector<bool> allowed{};                            ///< by choice index; empty: all

    [[nodiscard]] bool admits(double internal) const;
};

/// The values of `distribution` inside `within`, as a distribution. Returns nullopt if there are none. Choices keep their list: the caller
/// draws among `allowed`.
[[nodiscard]] std::optional<Distribution> narrowed(const Distribution& distribution, const Narrowing& within);

/// The value of `distribution` inside `within` that is nearest to a number, in the internal representation. Of choices, only numbers count,
/// and truth values as 0 and 1. Returns nullopt if there is none.
[[nodiscard]] std::optional<double> nearest_admitted(const Distribution& distribution, const Narrowing& within, double number);

inline bool Narrowing::admits(double internal) const {
    // A grid point and a bound that a person wrote may be the same number and still differ in the last bit.
    if (allowed.empty()) return internal >= low - 1e-12 * std::fabs(low) && internal <= high + 1e-12 * std::fabs(high);
    const auto index = static_cast<std::size_t>(internal);
    return index < allowed.size() && allowed[index];
}

inline std::optional<Distribution> narrowed(const Distribution& distribution, const Narrowing& within) {
    if (const auto* real = std::get_if<FloatDistribution>(&distribution)) {
        FloatDistribution part = *real;
        part.low = std::max(part.low, within.low);
        part.high = std::min(part.high, within.high);
        if (real->step) {
            const double first = std::ceil((part.low - real->low) / *real->step - 1e-8);
            const double last = std::floor((part.high - real->low) / *real->step + 1e-8);
            if (first > last) return std::nullopt;
            part.low = real->low + first * *real->step;
            part.high = std::min(real->low + last * *real->step, real->high);
            return part;
        }
        if (part.low > part.high) return std::nullopt;
        return checked("narrowing", part);
    }
    if (const auto* whole = std::get_if<IntDistribution>(&distribution)) {
        IntDistribution part = *whole;
        if (within.low > static_cast<double>(part.low)) {
            const auto step = static_cast<double>(whole->step);
            const double steps = std::ceil((within.low - static_cast<double>(whole->low)) / step);
            if (steps * step > static_cast<double>(whole->high - whole->low)) return std::nullopt;
            part.low = whole->low + static_cast<std::int64_t>(steps) * whole->step;
        }
        if (within.high < static_cast<double>(part.high)) {
            if (within.high < static_cast<double>(part.low)) return std::nullopt;
            part.high = static_cast<std::int64_t>(std::floor(within.high));
        }
        if (part.low > part.high) return std::nullopt;
        return checked("narrowing", part);
    }
    for (std::size_t i = 0; i < std::get<CategoricalDistribution>(distribution).choices.size(); ++i) {
        if (within.admits(static_cast<double>(i))) return distribution;
    }
    return std::nullopt;
}

inline std::optional<double> nearest_admitted(const Distribution& distribution, const Narrowing& within, double number) {
    const auto part = narrowed(distribution, within);
    if (!part || std::isnan(number)) return std::nullopt;
    if (const auto* const real = std::get_if<FloatDistribution>(&*part)) {
        const double inside = std::clamp(number, real->low, real->high);
        if (!real->step) return inside;
        // Points are counted from the low of the whole distribution, so that they are exactly those of a draw.
        const auto& whole = std::get<FloatDistribution>(distribution);
        return std::min(whole.low + std::round((inside - whole.low) / *whole.step) * *whole.step, whole.high);
    }
    if (const auto* const whole = std::get_if<IntDistribution>(&*part)) {
        const auto low = static_cast<double>(whole->low);
        const double inside = std::clamp(number, low, static_cast<double>(whole->high));
        const std::int64_t steps = (whole->high - whole->low) / whole->step;
        const auto step = static_cast<double>(whole->step);
        return low + std::min(std::round((inside - low) / step), static_cast<double>(steps)) * step;
    }
    const auto& choices = std::get<CategoricalDistribution>(*part).choices;
    std::optional<double> nearest;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < choices.size(); ++i) {
        const auto choice = as_number(choices[i]);
        const auto index = static_cast<double>(i);
        if (!choice || !within.admits(index)) continue;
        const double distance = std::fabs(*choice - number);
        if (nearest && distance >= least) continue;
        nearest = index;
        least = distance;
    }
    return nearest;
}

}  // namespace hpo
