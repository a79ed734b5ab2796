// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/text/bert_words.hpp"
#include "hpo/text/concept.hpp"
#include "hpo/text/vocabulary.hpp"

namespace hpo::text {

/// BERT's tokens: each word becomes the longest pieces of the vocabulary from left to right, those inside a word marked "##"
/// (Wu et al. 2016, Devlin et al. 2019). A word with a part that is in no piece, and one of more than 100 characters, is unknown.
class WordPiece {
public:
    struct Config {
        BertWordOptions words;
        std::string unknown = "[UNK]";
        std::size_t longest_word = 100;  ///< in code points
    };

    /// Throws Error naming the place when the vocabulary lacks the unknown token.
    WordPiece(Vocabulary vocabulary, const Config& config, const std::string& place = "vocabulary");

    void append(std::string_view text, std::vector<TokenId>& ids, std::size_t most) const;
    [[nodiscard]] const Vocabulary& vocabulary() const noexcept { return vocabulary_; }

private:
    void append_word(std::string_view word, std::vector<TokenId>& ids) const;
    [[nodiscard]] std::optional<TokenId> find_inside(std::string_view piece) const;

    Vocabulary vocabulary_;
    TextMap<TokenId> inside_;  ///< without their "##"
    BertWords words_;
    std::size_t longest_word_;
    std::size_t longest_piece_ = 0;
    TokenId unknown_ = 0;
};

static_assert(Subwords<WordPiece>);

}  // namespace hpo::text

#ifndef HPO_COMPILED
#include "hpo/text/impl/word_piece_inl.hpp"
#endif
