// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/text/concept.hpp"
#include "hpo/text/pieces/vocabulary.hpp"
#include "text/pieces/bert_words.hpp"

namespace hpo::text {

/// The tokens of BERT. Each word is cut from left to right into the longest pieces of the vocabulary. Pieces inside a word are marked with
/// "##" (Wu et al. 2016, Devlin et al. 2019). A word is unknown if a part of it is in no piece, or if it has more than 100 characters.
class WordPiece {
public:
    struct Config {
        BertWordOptions words;
        std::string unknown = "[UNK]";
        std::size_t longest_word = 100;  ///< in code points
    };

    /// Throws Error that names the place if the vocabulary lacks the unknown token.
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
