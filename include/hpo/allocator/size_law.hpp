// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

namespace hpo::allocator {

/// What the sizes of a program's blocks may be made of: products of powers of the program's numbers, such as its batch size, its length and
/// its width. Each product has at most three numbers, none to a power above 2, and together at most the power 4. The simplest come first.
class SizeTerms {
public:
    static constexpr std::size_t most_numbers = 8;
    /// Throws Error if there are more than `most_numbers`.
    explicit SizeTerms(std::size_t numbers);

    [[nodiscard]] std::size_t count() const noexcept { return powers_.size(); }
    /// The value of each product. The numbers are above 0, as many as the constructor was told.
    [[nodiscard]] std::vector<double> at(const std::vector<double>& numbers) const;

private:
    std::vector<std::vector<int>> powers_;  ///< of each number, for each product
};

/// A block's size where the program was recorded: bytes, and the value of each product there.
struct SizePoint {
    double bytes = 0;  ///< above 0
    const std::vector<double>* terms = nullptr;
};

/// A size in bytes, and how large it may be as well.
struct SizeGuess {
    double bytes = 0;
    double most = 0;  ///< equal to `bytes` if no other law fits as well
};

/// The size where the products have other values. It is c0 m0, or else c0 m0 + c1 m1 with c0, c1 >= 0, for the first products that give all
/// points exactly. Others that do so count for `most`. If there are none, one product may give the first point and three in five of all:
/// the others may be points of other blocks. If there is none of these either, as for workspaces, the first point's size grows with the
/// product that fits best, and `most` is larger by as much as that misses other points. O(terms^2 * points). With
/// more than five numbers, sums are not tried.
[[nodiscard]] SizeGuess size_at(const std::vector<double>& wanted, const std::vector<SizePoint>& points);

}  // namespace hpo::allocator

#ifndef HPO_COMPILED
#include "hpo/allocator/impl/size_law_inl.hpp"
#endif
