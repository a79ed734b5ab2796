// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/text/concept.hpp"
#include "hpo/text/prefix_tree.hpp"
#include "hpo/text/sentence_piece_model.hpp"
#include "hpo/text/vocabulary.hpp"

namespace hpo::text {

/// SentencePiece's unigram tokens: of all ways to cut a text into pieces the most probable (Kudo 2018). Several characters in a row that
/// are in no piece are one unknown token, or with byte fallback a token for each of their bytes.
class SentencePiece {
public:
    /// Throws Error naming the place when the model falls back to bytes and lacks one.
    explicit SentencePiece(SentencePieceModel model, const std::string& place = "SentencePiece model");

    void append(std::string_view text, std::vector<TokenId>& ids, std::size_t most) const;
    [[nodiscard]] const Vocabulary& vocabulary() const noexcept { return vocabulary_; }

    /// A text as it is cut: characters rewritten, spaces as the model wants them.
    [[nodiscard]] std::string normalized(std::string_view text) const;

private:
    struct Cut {
        float score = 0;  ///< of the pieces up to here
        TokenId id = -1;  ///< of the last of them; -1: none ends here
        std::size_t begin = 0;
    };
    struct Rewritten {
        std::size_t bytes;
        std::string_view replacement;
    };
    static constexpr double always_score = -0.1;

    [[nodiscard]] bool is_unknown(TokenId id) const { return static_cast<std::size_t>(id) == model_.unknown; }
    /// What a leading byte says, whatever follows it.
    [[nodiscard]] static std::size_t character_bytes(char first) {
        const auto byte = static_cast<unsigned char>(first);
        return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    }
    void append_piece(TokenId id, std::string_view text, bool after_unknown, std::vector<TokenId>& ids) const;
    /// The beginning of a text, which is not empty, and what stands for it.
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

#ifndef HPO_COMPILED
#include "hpo/text/impl/sentence_piece_inl.hpp"
#endif
