// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "hpo/core/seed.hpp"

namespace hpo::sampler {

/// Halton's sequence: coordinate d is the radical inverse in the d-th prime base.
class Halton {
public:
    static constexpr std::size_t dimensions = 64;

    /// Coordinate `dimension` < dimensions of point `index`, counted from 0, in [0, 1). O(log(index)).
    [[nodiscard]] static double coordinate(std::uint64_t index, std::size_t dimension) {
        const std::uint64_t base = primes[dimension];
        double weight = 1;
        double sum = 0;
        for (; index != 0; index /= base) {
            weight /= static_cast<double>(base);
            sum += weight * static_cast<double>(index % base);
        }
        return std::min(sum, below_one);
    }

    /// The same with each digit permuted, the infinitely many zeros behind the last included, as far as a double holds them (Owen 2017, "A
    /// randomized Halton algorithm in R"). O(base * log(2^53) / log(base)).
    [[nodiscard]] static double scrambled(std::uint64_t index, std::size_t dimension, Seed seed) {
        const std::uint64_t base = primes[dimension];
        std::vector<std::uint64_t> digits(base);
        double weight = 1;
        double sum = 0;
        for (std::uint64_t place = 0; weight > 0x1.0p-53; ++place, index /= base) {
            std::iota(digits.begin(), digits.end(), std::uint64_t{0});
            Rng rng = seed.derive(place).rng();
            for (std::size_t i = digits.size() - 1; i > 0; --i) std::swap(digits[i], digits[rng.below(i + 1)]);
            weight /= static_cast<double>(base);
            sum += weight * static_cast<double>(digits[index % base]);
        }
        return std::min(sum, below_one);
    }

private:
    static constexpr double below_one = 0x1.fffffffffffffp-1;
    static constexpr std::array<std::uint64_t, dimensions> primes = [] {
        std::array<std::uint64_t, dimensions> found{};
        std::size_t count = 0;
        for (std::uint64_t number = 2; count < dimensions; ++number) {
            bool is_prime = true;
            for (std::size_t i = 0; i < count; ++i) is_prime = is_prime && number % found[i] != 0;
            if (is_prime) found[count++] = number;
        }
        return found;
    }();
};

}  // namespace hpo::sampler
