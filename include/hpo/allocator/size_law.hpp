// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace hpo::allocator {

/// What the sizes of a program's blocks may be made of, with some numbers: the value of each product, and its values where one of the
/// numbers is rounded up to a multiple of 8, 16, 32, ..., 1024, as kernels pad a width or a length.
struct SizeValues {
    std::vector<double> plain;
    std::vector<std::vector<double>> rounded;  ///< for each number and each multiple
};

/// What the sizes of a program's blocks may be made of: products of powers of the program's numbers, such as its batch size, its length and
/// its width. Each product has at most three numbers, none to a power above 2, and together at most the power 4. The simplest come first.
class SizeTerms {
public:
    static constexpr std::size_t most_numbers = 8;
    /// Throws Error if there are more than `most_numbers`.
    explicit SizeTerms(std::size_t numbers);

    [[nodiscard]] std::size_t count() const noexcept { return powers_.size(); }
    /// The numbers are above 0, as many as the constructor was told.
    [[nodiscard]] SizeValues at(const std::vector<double>& numbers) const;

private:
    [[nodiscard]] std::vector<double> products(const std::vector<double>& numbers) const;

    std::vector<std::vector<int>> powers_;  ///< of each number, for each product
};

/// A block's size where the program was recorded.
struct SizePoint {
    double bytes = 0;  ///< above 0
    const SizeValues* values = nullptr;
};

/// A size in bytes, and how small or large it may be as well.
struct SizeGuess {
    double bytes = 0;
    double least = 0;  ///< equal to `bytes` if no other law fits as well, like `most`
    double most = 0;
};

/// The first product that grows as the sizes do. Nullopt if none does.
[[nodiscard]] std::optional<std::size_t> product_of(const std::vector<SizePoint>& points);

/// The size with other numbers, by the first of these laws that gives all points exactly. m0 and m1 are products, and c0, c1 >= 0.
///
/// - c0 m0
/// - c0 m0 + c1 m1
/// - c0 m0 with one number rounded up
///
/// So a padding that no point shows is not seen. Other laws of the same kind that give all points count for `least` and `most`. If there is
/// no such law, c0 m0 may give the first point and three in five of all: the others may be points of other blocks. If it does not either,
/// as for workspaces, the first point's size grows with the product that fits best, and `least` and `most` differ by as much as that misses
/// other points. O(terms^2 * points). With more than five numbers, sums are not tried.
[[nodiscard]] SizeGuess size_at(const SizeValues& wanted, const std::vector<SizePoint>& points);

}  // namespace hpo::allocator
