// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hpo/dataset/label_table.hpp"

namespace hpo::dataset {

/// How often each class occurs.
struct LabelBalance {
    std::vector<std::int64_t> counts;  ///< one for each class

    [[nodiscard]] std::int64_t examples() const;
    /// The class with the most examples. The first one if several have as many.
    [[nodiscard]] std::int64_t largest() const { return std::max_element(counts.begin(), counts.end()) - counts.begin(); }
    /// The class with the fewest examples, which may be 0. The first one if several have as few.
    [[nodiscard]] std::int64_t smallest() const { return std::min_element(counts.begin(), counts.end()) - counts.begin(); }
    /// The accuracy of always answering the largest class. 0 if there are no examples.
    [[nodiscard]] double largest_share() const {
        const std::int64_t all = examples();
        return all == 0 ? 0 : static_cast<double>(counts[static_cast<std::size_t>(largest())]) / static_cast<double>(all);
    }
    [[nodiscard]] std::int64_t classes_without_examples() const { return std::count(counts.begin(), counts.end(), 0); }

    /// The entropy of the classes' shares, in bits. It is log2 of the number of classes if all are equally frequent, and 0 if all examples
    /// have the same class.
    [[nodiscard]] double entropy_bits() const;
};

/// `labels` are class numbers below `classes`.
[[nodiscard]] LabelBalance label_balance(std::span<const std::int64_t> labels, std::int64_t classes);

/// One line for people: `48744 texts of 58 classes; most 'libs' 5115 (10.5 %), fewest 'zope' 15; entropy 5.06 of 5.86 bits; none of 'x'`.
/// If all classes are equally frequent: `6 texts of 3 classes; 2 (33.3 %) of each; ...`.
[[nodiscard]] std::string balance_text(const LabelBalance& balance, const LabelTable& labels);

}  // namespace hpo::dataset
