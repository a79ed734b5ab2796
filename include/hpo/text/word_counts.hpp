// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/text/pieces/vocabulary.hpp"
#include "hpo/text/tokenizer.hpp"

namespace hpo::text {

/// Makes a tokenizer from texts alone, for models that are trained from scratch.
///
/// Design note: its tokens are words and characters only. Longer pieces, as WordPiece learns them, would need fewer tokens for rare words.
/// But a model that is small enough to be trained from scratch on a labelled data set learns little from rare words anyway.
class WordCounts {
public:
    /// Counts the words of a text, split as BERT does it, without case and accents.
    void add(std::string_view text);

    /// A tokenizer with at most `size` tokens. First come [PAD] [UNK] [CLS] [SEP] [MASK]. Then come the most frequent characters of the
    /// words, in the first half of the vocabulary. Each has two tokens, one for the beginning and one for the inside of a word. Last come
    /// the most frequent words. Tokens of equal counts are sorted by their bytes. Throws Error if `size` allows only the special tokens.
    [[nodiscard]] Tokenizer tokenizer(std::size_t size) const;

private:
    using Counts = TextMap<std::int64_t>;

    [[nodiscard]] static std::vector<std::string> most_frequent(const Counts& counts);

    Counts counts_;
};

}  // namespace hpo::text
