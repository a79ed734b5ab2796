// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/text/concept.hpp"
#include "hpo/text/pieces/vocabulary.hpp"
#include "text/pieces/prefix_tree.hpp"
#include "text/pieces/sentence_piece_model.hpp"

namespace hpo::text {

/// The unigram tokens of SentencePiece. Of all ways to cut a text into pieces, it takes the most probable (Kudo 2018). A run of characters
/// that are in no piece is one unknown token. With byte fallback, each of their bytes is a token.
class SentencePiece {
public:
    /// Throws Error that names the place if the model has byte fallback and lacks a byte.
    explicit SentencePiece(SentencePieceModel model, const std::string& place = "SentencePiece model");

    void append(std::string_view text, std::vector<TokenId>& ids, std::size_t most) const;
    [[nodiscard]] const Vocabulary& vocabulary() const noexcept { return vocabulary_; }

    /// The text before it is cut: with rewritten characters, and with spaces as the model wants them.
    [[nodiscard]] std::string normalized(std::string_view text) const;

private:
    struct Cut {
        float score = 0;  ///< of the pieces up to here
        TokenId id = -1;  ///< of the last of these pieces; -1: no piece ends here
        std::size_t begin = 0;
    };
    struct Rewritten {
        std::size_t bytes;
        std::string_view replacement;
    };
    static constexpr double always_score = -0.1;

    [[nodiscard]] bool is_unknown(TokenId id) const { return static_cast<std::size_t>(id) == model_.unknown; }
    /// The length of a character by its leading byte alone.
    [[nodiscard]] static std::size_t character_bytes(char first) {
        const auto byte = static_cast<unsigned char>(first);
        return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    }
    void append_piece(TokenId id, std::string_view text, bool after_unknown, std::vector<TokenId>& ids) const;
    /// The beginning of a text and its replacement. The text is not empty.
    [[nodiscard]] Rewritten rewritten(std::string_view text) const;
    void find_bytes(const std::string& place);

    SentencePieceModel model_;
    Vocabulary vocabulary_;
    PrefixTree pieces_;
    PrefixTree user_defined_;
    float unknown_score_ = 0;
    std::array<TokenId, 256> bytes_{};
};

static_assert(Subwords<SentencePiece>);

}  // namespace hpo::text
