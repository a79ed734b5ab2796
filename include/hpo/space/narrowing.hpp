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

}  // namespace hpo
