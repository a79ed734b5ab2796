// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "hpo/dataset/sha256.hpp"
#include "hpo/dataset/text_table.hpp"

namespace hpo::dataset {

/// A number in [0, 1) that a text has for a purpose and a seed: the first 53 bits of
/// SHA-256("PURPOSE SEED\n" + SHA-256(text)). Equal texts have equal numbers, wherever they stand.
struct TextLottery {
    std::string_view purpose;
    std::uint64_t seed = 0;

    [[nodiscard]] double draw(const Digest& text) const;
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
[[nodiscard]] Split split_by_text(const TextTable& table, const SplitRule& rule);

/// How many of some rows are used.
struct SubsetRule {
    std::int64_t examples = 0;  ///< 0: all
    std::uint64_t seed = 0;
    std::string_view name = "examples";  ///< of the number, for errors
};

/// The `examples` of the rows whose texts have the smallest numbers for "subset", in the order of these numbers: with one seed, a smaller
/// subset is the beginning of a larger one. All rows, as they stand, where none are asked for. Throws Error when there are too few.
[[nodiscard]] std::vector<std::int64_t> subset(const TextTable& table, std::span<const std::int64_t> rows, const SubsetRule& rule);

}  // namespace hpo::dataset

#ifndef HPO_COMPILED
#include "hpo/dataset/impl/split_inl.hpp"
#endif
