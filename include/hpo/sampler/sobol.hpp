// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace hpo::sampler {

/// Sobol's sequence with the direction numbers of Joe and Kuo 2008 (new-joe-kuo-6.21201), in the order of Gray's code (Antonov and Saleev
/// 1979). Numbers are the first 32 bits behind the point: 0x80000000 is one half.
class Sobol {
public:
    static constexpr std::size_t dimensions = 64;

    /// Coordinate `dimension` < dimensions of point `index`, counted from 0. O(32).
    [[nodiscard]] static std::uint32_t coordinate(std::uint32_t index, std::size_t dimension) {
        static const Directions directions = make_directions();
        std::uint32_t bits = 0;
        for (std::uint32_t rest = index ^ (index >> 1U); rest != 0; rest &= rest - 1)
            bits ^= directions[dimension][static_cast<std::size_t>(std::countr_zero(rest))];
        return bits;
    }

    /// Owen's nested scrambling of a coordinate: each bit is flipped by chance that depends on the bits before it. Here the chance is a
    /// hash (Laine and Karras 2011, as Burley 2020, "Practical hash-based Owen scrambling", section 3, uses it).
    [[nodiscard]] static constexpr std::uint32_t scrambled(std::uint32_t bits, std::uint32_t seed) {
        std::uint32_t mixed = reversed(bits);
        mixed += seed;
        for (const std::uint32_t factor : {0x6c50b47cU, 0xb82f1e52U, 0xc7afe638U, 0x8d22f6e6U}) mixed ^= mixed * factor;
        return reversed(mixed);
    }

private:
    using Directions = std::array<std::array<std::uint32_t, 32>, dimensions>;
    /// A primitive polynomial over GF(2), its bits from the highest power to the constant, and the first direction numbers.
    struct Start {
        std::uint32_t polynomial;
        std::array<std::uint32_t, 9> first;
    };
    // clang-format off
    static constexpr std::array<Start, dimensions> starts{{
        {1, {1}}, {3, {1}}, {7, {1, 3}}, {11, {1, 3, 1}}, {13, {1, 1, 1}}, {19, {1, 1, 3, 3}}, {25, {1, 3, 5, 13}}, {37, {1, 1, 5, 5, 17}},
        {41, {1, 1, 5, 5, 5}}, {47, {1, 1, 7, 11, 19}}, {55, {1, 1, 5, 1, 1}}, {59, {1, 1, 1, 3, 11}}, {61, {1, 3, 5, 5, 31}},
        {67, {1, 3, 3, 9, 7, 49}}, {91, {1, 1, 1, 15, 21, 21}}, {97, {1, 3, 1, 13, 27, 49}}, {103, {1, 1, 1, 15, 7, 5}},
        {109, {1, 3, 1, 15, 13, 25}}, {115, {1, 1, 5, 5, 19, 61}}, {131, {1, 3, 7, 11, 23, 15, 103}}, {137, {1, 3, 7, 13, 13, 15, 69}},
        {143, {1, 1, 3, 13, 7, 35, 63}}, {145, {1, 3, 5, 9, 1, 25, 53}}, {157, {1, 3, 1, 13, 9, 35, 107}}, {167, {1, 3, 1, 5, 27, 61, 31}},
        {171, {1, 1, 5, 11, 19, 41, 61}}, {185, {1, 3, 5, 3, 3, 13, 69}}, {191, {1, 1, 7, 13, 1, 19, 1}}, {193, {1, 3, 7, 5, 13, 19, 59}},
        {203, {1, 1, 3, 9, 25, 29, 41}}, {211, {1, 3, 5, 13, 23, 1, 55}}, {213, {1, 3, 7, 3, 13, 59, 17}}, {229, {1, 3, 1, 3, 5, 53, 69}},
        {239, {1, 1, 5, 5, 23, 33, 13}}, {241, {1, 1, 7, 7, 1, 61, 123}}, {247, {1, 1, 7, 9, 13, 61, 49}}, {253, {1, 3, 3, 5, 3, 55, 33}},
        {285, {1, 3, 1, 15, 31, 13, 49, 245}}, {299, {1, 3, 5, 15, 31, 59, 63, 97}}, {301, {1, 3, 1, 11, 11, 11, 77, 249}},
        {333, {1, 3, 1, 11, 27, 43, 71, 9}}, {351, {1, 1, 7, 15, 21, 11, 81, 45}}, {355, {1, 3, 7, 3, 25, 31, 65, 79}},
        {357, {1, 3, 1, 1, 19, 11, 3, 205}}, {361, {1, 1, 5, 9, 19, 21, 29, 157}}, {369, {1, 3, 7, 11, 1, 33, 89, 185}},
        {391, {1, 3, 3, 3, 15, 9, 79, 71}}, {397, {1, 3, 7, 11, 15, 39, 119, 27}}, {425, {1, 1, 3, 1, 11, 31, 97, 225}},
        {451, {1, 1, 1, 3, 23, 43, 57, 177}}, {463, {1, 3, 7, 7, 17, 17, 37, 71}}, {487, {1, 3, 1, 5, 27, 63, 123, 213}},
        {501, {1, 1, 3, 5, 11, 43, 53, 133}}, {529, {1, 3, 5, 5, 29, 17, 47, 173, 479}}, {539, {1, 3, 3, 11, 3, 1, 109, 9, 69}},
        {545, {1, 1, 1, 5, 17, 39, 23, 5, 343}}, {557, {1, 3, 1, 5, 25, 15, 31, 103, 499}}, {563, {1, 1, 1, 11, 11, 17, 63, 105, 183}},
        {601, {1, 1, 5, 11, 9, 29, 97, 231, 363}}, {607, {1, 1, 5, 15, 19, 45, 41, 7, 383}}, {617, {1, 3, 7, 7, 31, 19, 83, 137, 221}},
        {623, {1, 1, 1, 3, 23, 15, 111, 223, 83}}, {631, {1, 1, 5, 13, 31, 15, 55, 25, 161}}, {637, {1, 1, 3, 13, 25, 47, 39, 87, 257}},
    }};
    // clang-format on

    [[nodiscard]] static constexpr std::uint32_t reversed(std::uint32_t bits) {
        std::uint32_t turned = 0;
        for (int i = 0; i < 32; ++i, bits >>= 1U) turned = (turned << 1U) | (bits & 1U);
        return turned;
    }

    [[nodiscard]] static Directions make_directions() {
        Directions all{};
        for (std::size_t d = 0; d < dimensions; ++d) {
            const auto degree = static_cast<std::size_t>(std::bit_width(starts[d].polynomial)) - 1;
            std::array<std::uint32_t, 32> m{};
            for (std::size_t i = 0; i < m.size(); ++i) {
                if (d == 0) {  // van der Corput's sequence, which has no recurrence
                    m[i] = 1;
                } else if (i < degree) {
                    m[i] = starts[d].first[i];
                } else {  // the recurrence of Bratley and Fox 1988, (2)
                    m[i] = m[i - degree] ^ (m[i - degree] << degree);
                    for (std::size_t k = 1; k < degree; ++k) {
                        if ((starts[d].polynomial >> (degree - k)) & 1U) m[i] ^= m[i - k] << k;
                    }
                }
                all[d][i] = m[i] << (31 - i);
            }
        }
        return all;
    }
};

}  // namespace hpo::sampler
