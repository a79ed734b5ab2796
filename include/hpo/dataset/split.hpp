// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "hpo/dataset/sha256.hpp"
#include "hpo/dataset/text_table.hpp"

namespace hpo::dataset {

/// Gives each text a number in [0, 1) for a purpose and a seed: the first 53 bits of SHA-256("PURPOSE SEED\n" + SHA-256(text)). Equal texts
/// have equal numbers, in any row.
struct TextLottery {
    std::string_view purpose;
    std::uint64_t seed = 0;

    [[nodiscard]] double draw(const Digest& text) const;
};

/// Which shares of a table's texts are held out.
struct SplitRule {
    double test = 0.1;        ///< to measure the final model once
    double validation = 0.1;  ///< for the objective
    std::uint64_t seed = 0;
};

/// Rows of a table.
struct Split {
    std::vector<std::int64_t> train;
    std::vector<std::int64_t> validation;
    std::vector<std::int64_t> test;
};

/// Splits by the content of the texts, with their numbers for "split". A text is a test text if its number is below `test`. It is a
/// validation text if its number is below `test` + `validation`. All other texts are for training. Equal texts come to the same part. The
/// order of the rows has no influence, and rows that are added later do not move other rows. Classes may have different shares in the
/// parts. Throws Error if the shares leave no texts for training.
[[nodiscard]] Split split_by_text(const TextTable& table, const SplitRule& rule);

/// How many of some rows are used.
struct SubsetRule {
    std::int64_t examples = 0;  ///< 0: all
    std::uint64_t seed = 0;
    std::string_view name = "examples";  ///< what errors call the number
};

/// The `examples` rows whose texts have the smallest numbers for "subset", in the order of these numbers. With the same seed, a smaller
/// subset is the beginning of a larger one. If `examples` is 0, returns all rows in their own order. Throws Error if there are too few
/// rows.
[[nodiscard]] std::vector<std::int64_t> subset(const TextTable& table, std::span<const std::int64_t> rows, const SubsetRule& rule);

}  // namespace hpo::dataset
