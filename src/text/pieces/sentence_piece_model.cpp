// SPDX-License-Identifier: MIT
#include "text/pieces/sentence_piece_model.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>

#include "hpo/base/error.hpp"
#include "hpo/base/utf8.hpp"
#include "hpo/text/json_file.hpp"
#include "text/wire_message.hpp"

namespace hpo::text::detail {

[[nodiscard]] SentencePieceModel::Piece read_piece(WireMessage message) {
    SentencePieceModel::Piece piece;
    while (const auto field = message.next()) {
        if (field->number == 1) piece.text = message.bytes_of(*field);
        if (field->number == 2) piece.score = message.number_of(*field);
        if (field->number != 3) continue;
        const std::uint64_t kind = message.whole_of(*field);
        if (kind < 1 || kind > 6) throw message.damaged("its type is " + std::to_string(kind));
        piece.kind = static_cast<SentencePieceModel::Kind>(kind);
    }
    if (piece.text.empty() || find_invalid_utf8(piece.text) != std::string::npos) throw message.damaged("it is no text in UTF-8");
    if (!std::isfinite(piece.score)) throw message.damaged("its score is no number");
    return piece;
}

void read_training(WireMessage message, SentencePieceModel& model) {
    while (const auto field = message.next()) {
        if (field->number == 3) {
            static constexpr std::array<const char*, 5> kinds{"", "unigram", "bpe", "word", "char"};
            const std::uint64_t kind = message.whole_of(*field);
            const std::string name = kind < kinds.size() ? kinds[kind] : std::to_string(kind);
            if (kind != 1) throw bad_value(message.place() + ": model_type", name, "unigram, all that is supported");
        }
        if (field->number == 24) model.spaces_end_words = message.whole_of(*field) != 0;
        if (field->number == 35) model.byte_fallback = message.whole_of(*field) != 0;
    }
}

void read_normalization(WireMessage message, SentencePieceModel& model) {
    while (const auto field = message.next()) {
        if (field->number == 2) model.characters = CharacterMap{message.bytes_of(*field), message.place()};
        if (field->number == 3) model.space_in_front = message.whole_of(*field) != 0;
        if (field->number == 4) model.trims_spaces = message.whole_of(*field) != 0;
        if (field->number == 5) model.spaces_are_visible = message.whole_of(*field) != 0;
    }
}

}  // namespace hpo::text::detail

namespace hpo::text {

SentencePieceModel read_sentence_piece_model(const std::filesystem::path& file) {
    const std::string bytes = read_bytes(file);
    const std::string place = file.string();
    WireMessage message{bytes, place};
    SentencePieceModel model;
    std::optional<std::size_t> unknown;
    bool whole = false;
    std::unordered_map<std::string, std::size_t> known;
    while (const auto field = message.next()) {
        if (field->number == 1) {
            const std::size_t id = model.pieces.size();
            const std::string where = place + ": piece " + std::to_string(id);
            model.pieces.push_back(detail::read_piece({message.bytes_of(*field), where}));
            const auto& piece = model.pieces.back();
            if (const auto [same, added] = known.emplace(piece.text, id); !added)
                throw Error{Errc::bad_value, where + ": the same text as piece " + std::to_string(same->second)};
            if (piece.kind != SentencePieceModel::Kind::unknown) continue;
            if (unknown) throw Error{Errc::bad_value, where + ": unknown, as is piece " + std::to_string(*unknown)};
            unknown = id;
        }
        if (field->number == 2) detail::read_training({message.bytes_of(*field), place}, model);
        if (field->number == 3) {
            detail::read_normalization({message.bytes_of(*field), place}, model);
            whole = true;
        }
    }
    if (!whole) throw message.damaged("it has no normalizer_spec, as every SentencePiece model");
    if (!unknown) throw message.damaged("it has no unknown piece");
    model.unknown = *unknown;
    return model;
}

}  // namespace hpo::text
