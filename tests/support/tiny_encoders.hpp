// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace hpo::tests {

namespace detail {

inline void copy_encoder(const char* family, const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder);
    const std::filesystem::path source = std::filesystem::path{HPO_SOURCE_DIR} / "tests/torch/encoders" / family;
    for (const char* name : {"config.json", "model.safetensors"}) std::filesystem::copy(source / name, folder / name);
}

}  // namespace detail

/// A SentencePiece model of these pieces and their kinds (1: normal, 2: unknown, 3: control), all equally probable.
inline void write_sentence_pieces(const std::filesystem::path& file, const std::vector<std::pair<std::string, char>>& pieces) {
    const auto field = [](char number_and_kind, const std::string& bytes) {
        return std::string{number_and_kind, static_cast<char>(bytes.size())} + bytes;
    };
    std::ofstream out{file, std::ios::binary};
    for (const auto& [text, kind] : pieces) out << field('\x0a', field('\x0a', text) + std::string{'\x18', kind});
    out << field('\x1a', "\x18\x01");
}

/// A published model's folder: a tiny BERT that knows a few words.
inline void write_tiny_bert(const std::filesystem::path& folder) {
    detail::copy_encoder("bert", folder);
    std::ofstream{folder / "vocab.txt"} << "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nlibrary\ngame\nfont\na\nthe\nfor\nwith\ntool\n"
                                           "server\ndriver\neditor\nof\nand\nto\n";
}

/// The same for a tiny DeBERTa-v3, with a SentencePiece model of whole words.
inline void write_tiny_deberta(const std::filesystem::path& folder) {
    detail::copy_encoder("deberta", folder);
    constexpr char control = 3;
    constexpr char unknown = 2;
    std::vector<std::pair<std::string, char>> pieces{{"[PAD]", control}, {"[CLS]", control}, {"[SEP]", control}, {"[UNK]", unknown}};
    for (const std::string word :
         {"library", "game", "font", "a", "the", "for", "with", "tool", "server", "driver", "editor", "of", "and", "to"})
        pieces.emplace_back("\u2581" + word, '\1');
    write_sentence_pieces(folder / "spm.model", pieces);
}

}  // namespace hpo::tests
