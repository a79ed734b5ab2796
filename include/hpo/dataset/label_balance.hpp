// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/core/shown_text.hpp"
#include "hpo/dataset/label_table.hpp"
#include "hpo/dataset/shown_names.hpp"

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

/// `48744 texts of 58 classes; most 'libs' 5115 (10.5 %), fewest 'zope' 15; entropy 5.06 of 5.86 bits; none of 'x'`: one line for a person;
/// `6 texts of 3 classes; 2 (33.3 %) of each; ...` where all are alike.
[[nodiscard]] inline std::string balance_text(const LabelBalance& balance, const LabelTable& labels) {
    const auto rounded = [](double value, int decimals) {
        std::array<char, 32> buffer{};
        const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, decimals);
        return std::string{buffer.data(), end.ptr};
    };
    const auto described = [&](std::int64_t of) {
        const auto at = static_cast<std::size_t>(of);
        return "'" + shown(labels.names()[at]) + "' " + std::to_string(balance.counts[at]);
    };
    const std::string share = " (" + rounded(100 * balance.largest_share(), 1) + " %)";
    const std::string extremes = balance.largest() == balance.smallest()
                                     ? std::to_string(balance.counts.front()) + share + " of each"
                                     : "most " + described(balance.largest()) + share + ", fewest " + described(balance.smallest());
    std::string text = std::to_string(balance.examples()) + " texts of " + std::to_string(labels.size()) + " classes; " + extremes +
                       "; entropy " + rounded(balance.entropy_bits(), 2) + " of " +
                       rounded(std::log2(static_cast<double>(labels.size())), 2) + " bits";
    std::vector<std::string> missing;
    for (std::size_t i = 0; i < balance.counts.size(); ++i) {
        if (balance.counts[i] == 0) missing.push_back("'" + shown(labels.names()[i]) + "'");
    }
    return missing.empty() ? text : text + "; none of " + join_names(first_names(missing));
}

}  // namespace hpo::dataset
