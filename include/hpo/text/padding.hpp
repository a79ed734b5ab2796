// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hpo/text/pieces/vocabulary.hpp"

namespace hpo::text {

/// Texts of different lengths as one rectangle, row by row. It is as wide as the longest text.
struct PaddedIds {
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::vector<std::int64_t> ids;   ///< rows x columns, with the texts at the left
    std::vector<std::int64_t> mask;  ///< rows x columns: 1 for text, 0 for padding
};

[[nodiscard]] inline PaddedIds padded(std::span<const std::vector<TokenId>> texts, TokenId pad) {
    PaddedIds batch{.rows = texts.size()};
    for (const auto& text : texts) batch.columns = std::max(batch.columns, text.size());
    batch.ids.assign(batch.rows * batch.columns, pad);
    batch.mask.assign(batch.rows * batch.columns, 0);
    for (std::size_t row = 0; row < texts.size(); ++row) {
        const auto begin = static_cast<std::ptrdiff_t>(row * batch.columns);
        std::copy(texts[row].begin(), texts[row].end(), batch.ids.begin() + begin);
        std::fill_n(batch.mask.begin() + begin, texts[row].size(), 1);
    }
    return batch;
}

}  // namespace hpo::text
