// SPDX-License-Identifier: MIT
#include "hpo/allocator/size_law.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"

namespace hpo::allocator {
namespace law_detail {

inline constexpr double exact_size = 1e-9;  ///< share by which a law may miss a size

/// The first law that fits counts, and the smallest and largest size of any that does.
inline void add_guess(std::optional<SizeGuess>& guess, const SizeGuess& other) {
    if (!guess) {
        guess = other;
        return;
    }
    guess->least = std::min(guess->least, other.least);
    guess->most = std::max(guess->most, other.most);
}
inline void add_guess(std::optional<SizeGuess>& guess, double bytes) { add_guess(guess, SizeGuess{bytes, bytes, bytes}); }

/// How many points the law c m gives, of one product m and the size of the first point. `products` gives those of a point's values.
template <class Products>
[[nodiscard]] std::size_t fitting(std::size_t term, const std::vector<SizePoint>& points, Products&& products) {
    const double factor = points.front().bytes / products(*points.front().values)[term];
    return static_cast<std::size_t>(std::ranges::count_if(points, [&](const SizePoint& point) {
        return std::abs(factor * products(*point.values)[term] - point.bytes) <= exact_size * point.bytes;
    }));
}
[[nodiscard]] inline const std::vector<double>& plain_products(const SizeValues& values) { return values.plain; }

/// The law of one product, c m, that explains the first point and at least so many in all.
template <class Products>
[[nodiscard]] std::optional<SizeGuess> one_term(const SizeValues& wanted, const std::vector<SizePoint>& points, std::size_t least,
                                                Products&& products) {
    std::optional<SizeGuess> guess;
    for (std::size_t term = 0; term < wanted.plain.size(); ++term) {
        if (fitting(term, points, products) < least) continue;
        add_guess(guess, points.front().bytes / products(*points.front().values)[term] * products(wanted)[term]);
    }
    return guess;
}
[[nodiscard]] inline std::optional<SizeGuess> one_term(const SizeValues& wanted, const std::vector<SizePoint>& points, std::size_t least) {
    return one_term(wanted, points, least, plain_products);
}

/// The law of one product of which one number is rounded up. Two points have such a law by chance.
[[nodiscard]] inline std::optional<SizeGuess> rounded_term(const SizeValues& wanted, const std::vector<SizePoint>& points) {
    std::optional<SizeGuess> guess;
    if (points.size() < 3) return guess;
    for (std::size_t way = 0; way < wanted.rounded.size(); ++way) {
        const auto found = one_term(wanted, points, points.size(),
                                    [way](const SizeValues& values) -> const std::vector<double>& { return values.rounded[way]; });
        if (found) add_guess(guess, *found);
    }
    return guess;
}

/// The law of two products. Least squares of the relative errors: the normal equations of two unknowns.
[[nodiscard]] inline std::optional<SizeGuess> two_terms(const SizeValues& wanted, const std::vector<SizePoint>& points) {
    std::optional<SizeGuess> guess;
    constexpr std::size_t most_terms = 100;                                          // of five numbers; with more, the pairs are too many
    if (points.size() < 3 || wanted.plain.size() > most_terms) return std::nullopt;  // two points have such a law by chance
    for (std::size_t one = 0; one < wanted.plain.size(); ++one) {
        for (std::size_t other = one + 1; other < wanted.plain.size(); ++other) {
            double aa = 0;
            double ab = 0;
            double bb = 0;
            double a1 = 0;
            double b1 = 0;
            for (const SizePoint& point : points) {
                const double a = point.values->plain[one] / point.bytes;
                const double b = point.values->plain[other] / point.bytes;
                aa += a * a;
                ab += a * b;
                bb += b * b;
                a1 += a;
                b1 += b;
            }
            const double determinant = aa * bb - ab * ab;
            if (determinant <= 1e-9 * aa * bb) continue;  // the points do not tell the two apart
            const double c0 = (a1 * bb - b1 * ab) / determinant;
            const double c1 = (aa * b1 - ab * a1) / determinant;
            if (c0 < 0 || c1 < 0) continue;
            const bool fits = std::ranges::all_of(points, [&](const SizePoint& point) {
                return std::abs(c0 * point.values->plain[one] + c1 * point.values->plain[other] - point.bytes) <= exact_size * point.bytes;
            });
            if (fits) add_guess(guess, c0 * wanted.plain[one] + c1 * wanted.plain[other]);
        }
    }
    return guess;
}

/// The first point's size, grown with the product whose share of the sizes varies least.
[[nodiscard]] inline SizeGuess nearest_term(const SizeValues& wanted, const std::vector<SizePoint>& points) {
    double least = std::numeric_limits<double>::infinity();
    SizeGuess guess;
    for (std::size_t term = 0; term < wanted.plain.size(); ++term) {
        const double own_share = std::log(points.front().bytes / points.front().values->plain[term]);
        double least_share = own_share;
        double most_share = own_share;
        double sum = 0;
        double squares = 0;
        for (const SizePoint& point : points) {
            const double share = std::log(point.bytes / point.values->plain[term]);
            least_share = std::min(least_share, share);
            most_share = std::max(most_share, share);
            sum += share;
            squares += share * share;
        }
        const double variance = squares - sum * sum / static_cast<double>(points.size());
        if (!(variance < least - exact_size)) continue;
        least = variance;
        const double value = wanted.plain[term];
        guess = {std::exp(own_share) * value, std::exp(least_share) * value, std::exp(most_share) * value};
    }
    return guess;
}

}  // namespace law_detail

SizeTerms::SizeTerms(std::size_t numbers) {
    constexpr int most_together = 4;
    if (numbers > most_numbers)
        throw Error{Errc::usage, "a law of sizes has at most " + std::to_string(most_numbers) + " numbers, got " + std::to_string(numbers)};
    std::vector<int> powers(numbers, 0);
    const std::function<void(std::size_t, int, int)> choose = [&](std::size_t number, int used, int together) {
        if (number == numbers) return powers_.push_back(powers);
        for (int power = 0; power <= 2; ++power) {
            if (power > 0 && (used == 3 || together + power > most_together)) break;
            powers[number] = power;
            choose(number + 1, used + (power > 0 ? 1 : 0), together + power);
        }
        powers[number] = 0;
    };
    choose(0, 0, 0);
    const auto together = [](const std::vector<int>& each) { return std::accumulate(each.begin(), each.end(), 0); };
    // Of products of the same power, those of the first numbers come first.
    std::ranges::stable_sort(powers_, [&](const auto& a, const auto& b) {
        return together(a) != together(b) ? together(a) < together(b) : std::ranges::lexicographical_compare(b, a);
    });
}

SizeValues SizeTerms::at(const std::vector<double>& numbers) const {
    SizeValues values{.plain = products(numbers), .rounded = {}};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        for (double multiple = 8; multiple <= 1024; multiple *= 2) {
            std::vector<double> rounded = numbers;
            rounded[i] = std::ceil(numbers[i] / multiple) * multiple;
            values.rounded.push_back(products(rounded));
        }
    }
    return values;
}

std::vector<double> SizeTerms::products(const std::vector<double>& numbers) const {
    std::vector<double> values;
    values.reserve(powers_.size());
    for (const std::vector<int>& powers : powers_) {
        double value = 1;
        for (std::size_t i = 0; i < powers.size(); ++i) {
            for (int times = 0; times < powers[i]; ++times) value *= numbers[i];
        }
        values.push_back(value);
    }
    return values;
}

std::optional<std::size_t> product_of(const std::vector<SizePoint>& points) {
    for (std::size_t term = 0; term < points.front().values->plain.size(); ++term) {
        if (law_detail::fitting(term, points, law_detail::plain_products) == points.size()) return term;
    }
    return std::nullopt;
}

SizeGuess size_at(const SizeValues& wanted, const std::vector<SizePoint>& points) {
    const std::size_t all = points.size();
    if (const auto guess = law_detail::one_term(wanted, points, all)) return *guess;
    if (const auto guess = law_detail::two_terms(wanted, points)) return *guess;
    if (const auto guess = law_detail::rounded_term(wanted, points)) return *guess;
    const std::size_t most = std::max<std::size_t>(3, (all * 3 + 4) / 5);
    if (most < all) {
        if (const auto guess = law_detail::one_term(wanted, points, most)) return *guess;
    }
    return law_detail::nearest_term(wanted, points);
}

}  // namespace hpo::allocator
