// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "text/character_map.hpp"

namespace hpo::text {

/// The content of a SentencePiece file with a unigram model (Kudo 2018; Kudo and Richardson 2018).
struct SentencePieceModel {
    enum class Kind : std::uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
    struct Piece {
        std::string text;
        float score = 0;  ///< logarithm of its probability
        Kind kind = Kind::normal;
    };
    std::vector<Piece> pieces;  ///< the index is the id; exactly one is unknown
    CharacterMap characters;
    bool byte_fallback = false;      ///< a character that is in no piece becomes the pieces of its bytes ("<0x0A>")
    bool space_in_front = true;      ///< a text gets a space at its front, so that its first word is like the others
    bool spaces_end_words = false;   ///< pieces have their space at the end, and a text gets its space there too
    bool trims_spaces = true;        ///< several spaces count as one, and spaces around a text do not count
    bool spaces_are_visible = true;  ///< a space is U+2581 in the pieces
    std::size_t unknown = 0;         ///< id of the unknown piece
};

/// Reads a unigram model (`spm.model`). Throws Error that names the file, and the piece if it is to blame. Errors are: a damaged file,
/// another type of model, pieces that contradict each other. Design note: it does not use SentencePiece's own library. Debian and LibTorch
/// have different releases of protocol buffers, and their symbols collide. A process with both crashes as soon as it reads a model.
[[nodiscard]] SentencePieceModel read_sentence_piece_model(const std::filesystem::path& file);

}  // namespace hpo::text
