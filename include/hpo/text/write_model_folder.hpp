// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

#include "hpo/text/encoder_config.hpp"
#include "hpo/text/tokenizer.hpp"

namespace hpo::text {

/// Throws Error naming the file.
void write_text_file(const std::filesystem::path& file, const std::string& text);

/// Writes the `config.json` of a BERT encoder, as read_encoder_config reads it and published models have it.
void write_bert_config(const EncoderConfig& config, const std::filesystem::path& folder);

/// Writes the tokenizer that WordCounts makes: `vocab.txt`, a token a line, and what read_tokenizer must know besides.
void write_word_pieces(const Tokenizer& tokenizer, const std::filesystem::path& folder);

/// A model folder and the one that is made from it.
struct ModelFolders {
    std::filesystem::path from;
    std::filesystem::path to;
};

/// Copies what a model folder has besides its weights: configuration and tokenizer. Throws Error naming the file.
void copy_model_files(const ModelFolders& folders);

}  // namespace hpo::text

#ifndef HPO_COMPILED
#include "hpo/text/impl/write_model_folder_inl.hpp"
#endif
