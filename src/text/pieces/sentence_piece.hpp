// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/text/concept.hpp"
#include "hpo/text/pieces/vocabulary.hpp"
#include "text/pieces/sentence_piece_model.hpp"

namespace hpo::text {

/// Finds all keys with which a text begins, in one pass over the text.
/// Thread safety: several threads may use a finished tree.
class PrefixTree {
public:
    PrefixTree() = default;
    /// Keys with their values. No key may be empty or there twice, and no value may be negative.
    explicit PrefixTree(std::vector<std::pair<std::string, std::int32_t>> keys);

    /// Calls `found(length, value)` for every key with which the text begins, shortest first.
    template <class Found>
    void each_prefix(std::string_view text, const Found& found) const {
        if (nodes_.empty()) return;
        std::size_t at = 0;
        for (std::size_t i = 0; i < text.size(); ++i) {
            const auto begin = bytes_.begin() + nodes_[at].children;
            const auto end = bytes_.begin() + nodes_[at].end;
            const auto child = std::lower_bound(begin, end, text[i], [](char a, char b) {
                return std::string_view{&a, 1} < std::string_view{&b, 1};
            });
            if (child == end || *child != text[i]) return;
            at = static_cast<std::size_t>(child - bytes_.begin());
            if (nodes_[at].value >= 0) found(i + 1, nodes_[at].value);
        }
    }

private:
    struct Node {
        std::uint32_t children = 0;  ///< index of the first
        std::uint32_t end = 0;       ///< one past the last
        std::int32_t value = -1;     ///< of the key that ends here; -1: none
    };
    std::vector<Node> nodes_;
    std::vector<char> bytes_;  ///< for each node the last byte of its key; siblings are together, in the order of std::string
};

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
