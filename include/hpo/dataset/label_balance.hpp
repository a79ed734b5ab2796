// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hpo::dataset {

/// How often each class occurs.
struct LabelBalance {
    std::vector<std::int64_t> counts;  ///< a class each

    [[nodiscard]] std::int64_t examples() const {
        std::int64_t sum = 0;
        for (const std::int64_t count : counts) sum += count;
        return sum;
    }
    /// The class with the most examples; the first of several.
    [[nodiscard]] std::int64_t largest() const { return std::max_element(counts.begin(), counts.end()) - counts.begin(); }
    /// The class with the fewest examples, possibly none; the first of several.
    [[nodiscard]] std::int64_t smallest() const { return std::min_element(counts.begin(), counts.end()) - counts.begin(); }
    /// The accuracy of always answering the largest class; 0 without examples.
    [[nodiscard]] double largest_share() const {
        const std::int64_t all = examples();
        return all == 0 ? 0 : static_cast<double>(counts[static_cast<std::size_t>(largest())]) / static_cast<double>(all);
    }
    [[nodiscard]] std::int64_t classes_without_examples() const { return std::count(counts.begin(), counts.end(), 0); }

    /// Of the classes' shares, in bits: log2 of the number of classes when all are alike, 0 when there is but one.
    [[nodiscard]] double entropy_bits() const {
        const auto all = static_cast<double>(examples());
        double bits = 0;
        for (const std::int64_t count : counts) {
            const double share = static_cast<double>(count) / all;
            if (count > 0) bits -= share * std::log2(share);
        }
        return bits;
    }
};

/// `labels` are class numbers below `classes`.
[[nodiscard]] inline LabelBalance label_balance(std::span<const std::int64_t> labels, std::int64_t classes) {
    LabelBalance balance{std::vector<std::int64_t>(static_cast<std::size_t>(classes))};
    for (const std::int64_t label : labels) ++balance.counts[static_cast<std::size_t>(label)];
    return balance;
}

}  // namespace hpo::dataset
