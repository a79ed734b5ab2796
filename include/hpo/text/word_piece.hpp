// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/core/shown_text.hpp"
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
    WordPiece(Vocabulary vocabulary, const Config& config, const std::string& place = "vocabulary")
        : vocabulary_{std::move(vocabulary)}, words_{config.words}, longest_word_{config.longest_word} {
        const auto unknown = vocabulary_.find(config.unknown);
        if (!unknown) throw Error{Errc::bad_value, place + ": lacks the unknown token '" + shown(config.unknown) + "'"};
        unknown_ = *unknown;
        for (const std::string& token : vocabulary_.tokens()) {
            const TokenId id = *vocabulary_.find(token);
            if (token.starts_with("##")) inside_.insert_or_assign(token.substr(2), id);
            longest_piece_ = std::max(longest_piece_, token.size());
        }
    }

    void append(std::string_view text, std::vector<TokenId>& ids, std::size_t most) const {
        words_.split(text, [&](std::string_view word) {
            append_word(word, ids);
            return ids.size() < most;
        });
    }
    [[nodiscard]] const Vocabulary& vocabulary() const noexcept { return vocabulary_; }

private:
    void append_word(std::string_view word, std::vector<TokenId>& ids) const {
        const std::size_t before = ids.size();
        const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80; };
        const auto characters = static_cast<std::size_t>(std::count_if(word.begin(), word.end(), [&](char c) { return !continues(c); }));
        while (!word.empty() && characters <= longest_word_) {
            const bool first = ids.size() == before;
            std::size_t length = std::min(word.size(), longest_piece_);
            std::optional<TokenId> id;
            for (; length > 0; --length) {
                if (length < word.size() && continues(word[length])) continue;
                id = first ? vocabulary_.find(word.substr(0, length)) : find_inside(word.substr(0, length));
                if (id) break;
            }
            if (!id) break;
            ids.push_back(*id);
            word.remove_prefix(length);
        }
        if (word.empty()) return;
        ids.resize(before);
        ids.push_back(unknown_);
    }
    [[nodiscard]] std::optional<TokenId> find_inside(std::string_view piece) const {
        const auto found = inside_.find(piece);
        if (found == inside_.end()) return std::nullopt;
        return found->second;
    }

    Vocabulary vocabulary_;
    TextMap<TokenId> inside_;  ///< without their "##"
    BertWords words_;
    std::size_t longest_word_;
    std::size_t longest_piece_ = 0;
    TokenId unknown_ = 0;
};

static_assert(Subwords<WordPiece>);

}  // namespace hpo::text
