// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "hpo/text/character_map.hpp"

namespace hpo::text {

/// What a SentencePiece file with a unigram model says (Kudo 2018; Kudo and Richardson 2018).
struct SentencePieceModel {
    enum class Kind : std::uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
    struct Piece {
        std::string text;
        float score = 0;  ///< logarithm of its probability
        Kind kind = Kind::normal;
    };
    std::vector<Piece> pieces;  ///< the index is the id; exactly one is unknown
    CharacterMap characters;
    bool byte_fallback = false;      ///< what no piece has becomes the pieces of its bytes ("<0x0A>")
    bool space_in_front = true;      ///< a text gets a space at its front, so that its first word is like the others
    bool spaces_end_words = false;   ///< pieces have their space at the end; that of a text, too
    bool trims_spaces = true;        ///< of several spaces one counts, of those around a text none
    bool spaces_are_visible = true;  ///< a space is U+2581 in the pieces
    std::size_t unknown = 0;         ///< id of the unknown piece
};

/// Reads a unigram model (`spm.model`). Throws Error naming the file, and the piece where it is one, for what is damaged, for another
/// type of model, and for pieces that contradict each other.
/// Design note: SentencePiece's own library is not used. Debian's and LibTorch bring different releases of protocol buffers, whose
/// symbols collide: a process with both crashes as soon as a model is read.
[[nodiscard]] SentencePieceModel read_sentence_piece_model(const std::filesystem::path& file);

}  // namespace hpo::text

#ifndef HPO_COMPILED
#include "hpo/text/impl/sentence_piece_model_inl.hpp"
#endif
