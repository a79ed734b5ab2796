// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/core/value.hpp"
#include "hpo/dataset/sha256.hpp"
#include "hpo/dataset/text_table.hpp"

namespace hpo::dataset {

/// A number in [0, 1) that a text has for a purpose and a seed: the first 53 bits of
/// SHA-256("PURPOSE SEED\n" + SHA-256(text)). Equal texts have equal numbers, wherever they stand.
struct TextLottery {
    std::string_view purpose;
    std::uint64_t seed = 0;

    [[nodiscard]] double draw(const Digest& text) const {
        const Digest drawn = Sha256{}.add(purpose).add(" ").add(std::to_string(seed)).add("\n").add(text).finish();
        std::uint64_t bits = 0;
        for (std::size_t i = 0; i < 8; ++i) bits = bits << 8 | drawn[i];
        return static_cast<double>(bits >> 11U) * 0x1.0p-53;
    }
};

/// Which shares of a table's texts are held out.
struct SplitRule {
    double test = 0.1;        ///< measured once, when nothing is chosen any more
    double validation = 0.1;  ///< for the objective
    std::uint64_t seed = 0;
};

/// Rows of a table.
struct Split {
    std::vector<std::int64_t> train;
    std::vector<std::int64_t> validation;
    std::vector<std::int64_t> test;
};

/// Splits by what the texts say: a text whose number for "split" is below `test` is a test text, one below `test` +
/// `validation` a validation text, any other is trained on. Equal texts fall on the same side; the order of the rows and rows
/// that are added later change nothing for the others. The classes' shares are not made equal. Throws Error for shares
/// that leave nothing to train on.
[[nodiscard]] inline Split split_by_text(const TextTable& table, const SplitRule& rule) {
    if (!(rule.test >= 0) || !(rule.validation >= 0) || !(rule.test + rule.validation < 1)) {
        throw bad_value("shares of test and validation texts", number_text(rule.test) + " and " + number_text(rule.validation),
                        "shares from 0 that are together less than 1");
    }
    const TextLottery lottery{"split", rule.seed};
    Split split;
    for (std::int64_t row = 0; row < table.rows(); ++row) {
        const double drawn = lottery.draw(table.digest(row));
        auto& part = drawn < rule.test ? split.test : drawn < rule.test + rule.validation ? split.validation : split.train;
        part.push_back(row);
    }
    return split;
}

/// How many of some rows are used.
struct SubsetRule {
    std::int64_t examples = 0;  ///< 0: all
    std::uint64_t seed = 0;
    std::string_view name = "examples";  ///< of the number, for errors
};

/// The `examples` of the rows whose texts have the smallest numbers for "subset", in the order of these numbers: with one seed, a smaller
/// subset is the beginning of a larger one. All rows, as they stand, where none are asked for. Throws Error when there are too few.
[[nodiscard]] inline std::vector<std::int64_t> subset(const TextTable& table, std::span<const std::int64_t> rows, const SubsetRule& rule) {
    if (rule.examples == 0) return {rows.begin(), rows.end()};
    if (rule.examples < 0 || rule.examples > static_cast<std::int64_t>(rows.size())) {
        throw bad_value(table.name() + ": " + std::string{rule.name}, std::to_string(rule.examples),
                        "0 for all, or at most the " + std::to_string(rows.size()) + " that are there");
    }
    const TextLottery lottery{"subset", rule.seed};
    std::vector<std::pair<double, std::int64_t>> drawn;
    drawn.reserve(rows.size());
    for (const std::int64_t row : rows) drawn.emplace_back(lottery.draw(table.digest(row)), row);
    std::sort(drawn.begin(), drawn.end());
    std::vector<std::int64_t> chosen;
    for (std::int64_t i = 0; i < rule.examples; ++i) chosen.push_back(drawn[static_cast<std::size_t>(i)].second);
    return chosen;
}

}  // namespace hpo::dataset
