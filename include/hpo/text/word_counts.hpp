// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/text/tokenizer.hpp"
#include "hpo/text/vocabulary.hpp"

namespace hpo::text {

/// Makes a tokenizer from texts alone, for models that are trained from the beginning.
///
/// Design note: words and characters only. Pieces in between, as WordPiece learns them, shorten what rare words become, but models small
/// enough to be trained from the beginning on a labelled data set learn little from rare words anyway.
class WordCounts {
public:
    /// Counts the words of a text, split as BERT does it, without case and accents.
    void add(std::string_view text);

    /// A vocabulary of at most `size` tokens: [PAD] [UNK] [CLS] [SEP] [MASK]; the characters of the words, each as it begins a word and as
    /// it stands inside one, the most frequent first, in the first half of the vocabulary; then the most frequent words. Equal
    /// counts stand in the order of their bytes. Throws Error when there is no room for anything but the special tokens.
    [[nodiscard]] Tokenizer tokenizer(std::size_t size) const;

private:
    using Counts = TextMap<std::int64_t>;

    [[nodiscard]] static std::vector<std::string> most_frequent(const Counts& counts);

    Counts counts_;
};

}  // namespace hpo::text

#ifndef HPO_COMPILED
#include "hpo/text/impl/word_counts_inl.hpp"
#endif
