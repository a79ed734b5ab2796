// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

#include "hpo/text/stored/encoder_config.hpp"
#include "hpo/text/tokenizer.hpp"

namespace hpo::text {

/// Writes a text file. Throws Error that names the file.
void write_text_file(const std::filesystem::path& file, const std::string& text);

/// Writes the `config.json` of a BERT encoder in the form of published models, which read_encoder_config reads.
void write_bert_config(const EncoderConfig& config, const std::filesystem::path& folder);

/// Writes a tokenizer that WordCounts made: `vocab.txt` with one token in a line, and the settings that read_tokenizer needs.
void write_word_pieces(const Tokenizer& tokenizer, const std::filesystem::path& folder);

/// A model folder, and the folder that is made from it.
struct ModelFolders {
    std::filesystem::path from;
    std::filesystem::path to;
};

/// Copies the configuration and the tokenizer of a model folder, without its weights. Throws Error that names the file.
void copy_model_files(const ModelFolders& folders);

}  // namespace hpo::text
