// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>

namespace hpo {

/// Random bits that are the same on every platform: xoshiro256++ 1.0 (Blackman and Vigna 2019), seeded by SplitMix64. Satisfies
/// std::uniform_random_bit_generator. Prefer the members, because the standard distributions are not portable.
class Rng {
public:
    using result_type = std::uint64_t;

    explicit constexpr Rng(std::uint64_t seed) noexcept {
        for (auto& word : state_) word = split_mix(seed);
    }
    static constexpr result_type min() noexcept { return 0; }
    static constexpr result_type max() noexcept { return std::numeric_limits<result_type>::max(); }

    constexpr result_type operator()() noexcept {
        const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
        const std::uint64_t t = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

    /// Uniform in [0, 1), 53 bits.
    constexpr double uniform() noexcept { return static_cast<double>((*this)() >> 11U) * 0x1.0p-53; }

    /// Uniform in {0, ..., bound - 1}, without bias. `bound` must be positive.
    constexpr std::uint64_t below(std::uint64_t bound) noexcept {
        const std::uint64_t threshold = (0 - bound) % bound;
        for (;;) {
            const std::uint64_t draw = (*this)();
            if (draw >= threshold) return draw % bound;
        }
    }

    /// One step of SplitMix64: advances `state` and returns the mixed value.
    static constexpr std::uint64_t split_mix(std::uint64_t& state) noexcept {
        state += 0x9E3779B97F4A7C15U;
        std::uint64_t z = state;
        z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31U);
    }

private:
    std::array<std::uint64_t, 4> state_{};
};

/// The root of all randomness of a study. Each stream has its own key and is never shared. The same (seed, trial, name, round) gives the
/// same numbers, in whatever order the workers finish.
struct Seed {
    std::uint64_t value = 0;

    [[nodiscard]] constexpr Seed derive(std::uint64_t key) const noexcept {
        std::uint64_t state = value ^ std::rotl(key * 0xD1342543DE82EF95U, 32);
        return Seed{Rng::split_mix(state)};
    }
    [[nodiscard]] constexpr Seed derive(std::string_view key) const noexcept {
        std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a, 64 bits
        for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
        return derive(hash);
    }
    [[nodiscard]] constexpr Rng rng() const noexcept { return Rng{value}; }
};

}  // namespace hpo
