// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "hpo/core/seed.hpp"
#include "hpo/space/narrowing.hpp"

namespace hpo::sampler {

/// What draws come from: Rng, or what stands for it.
template <class B>
concept RandomBits = requires(B& bits, std::uint64_t bound) {
    { bits.uniform() } -> std::same_as<double>;            // in [0, 1)
    { bits.below(bound) } -> std::same_as<std::uint64_t>;  // in {0, ..., bound - 1}
};

/// Draws a value of `distribution` inside `within`, uniformly, or uniformly on the log scale for log parameters. `within` must leave at
/// least one value. Takes one number from `rng`.
template <RandomBits B>
[[nodiscard]] double draw_uniform(const Distribution& distribution, const Narrowing& within, B&& rng) {
    if (const auto* real = std::get_if<FloatDistribution>(&distribution)) {
        const double low = std::max(real->low, within.low);
        const double high = std::min(real->high, within.high);
        if (real->step) {
            // Points are counted from the low of the whole distribution, so that a narrowed draw gives exactly the same doubles.
            const double first = std::ceil((low - real->low) / *real->step - 1e-8);
            const double last = std::floor((high - real->low) / *real->step + 1e-8);
            const double k = first + static_cast<double>(rng.below(static_cast<std::uint64_t>(last - first) + 1));
            return std::min(real->low + k * *real->step, real->high);  // rounding may exceed the end
        }
        const double u = rng.uniform();
        const double drawn = real->log ? std::exp(std::log(low) + u * (std::log(high) - std::log(low))) : low * (1 - u) + high * u;
        return std::clamp(drawn, low, high);
    }
    if (std::holds_alternative<IntDistribution>(distribution)) {
        const Distribution part = *narrowed(distribution, within);
        const auto& whole = std::get<IntDistribution>(part);
        if (whole.log) {
            const double low = std::log(static_cast<double>(whole.low) - 0.5);
            const double high = std::log(static_cast<double>(whole.high) + 0.5);
            const double drawn = std::round(std::exp(low + rng.uniform() * (high - low)));
            return std::clamp(drawn, static_cast<double>(whole.low), static_cast<double>(whole.high));
        }
        const auto steps = static_cast<std::uint64_t>((whole.high - whole.low) / whole.step);
        return static_cast<double>(whole.low + static_cast<std::int64_t>(rng.below(steps + 1)) * whole.step);
    }
    const std::size_t choices = std::get<CategoricalDistribution>(distribution).choices.size();
    if (within.allowed.empty()) return static_cast<double>(rng.below(choices));
    auto skip = rng.below(static_cast<std::uint64_t>(std::count(within.allowed.begin(), within.allowed.end(), true)));
    std::size_t index = 0;
    while (!within.allowed[index] || skip-- > 0) ++index;
    return static_cast<double>(index);
}

}  // namespace hpo::sampler
