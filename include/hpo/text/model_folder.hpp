// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "hpo/text/tokenizer.hpp"

namespace hpo::text {

/// The tokenizer of a published model's folder. It is WordPiece from `vocab.txt`, byte-level BPE from `vocab.json` and `merges.txt`, or
/// SentencePiece from `spm.model` (`sentencepiece.bpe.model` for an XLM-RoBERTa). tokenizer_config.json and special_tokens_map.json set it
/// up if they exist. Throws Error that names file and field. It also throws
/// - if the number of tokens, apart from padding, is not config.json's `vocab_size`,
/// - if merges of the vocabulary are missing,
/// - if `added_tokens.json` has a token that tokenizer_config.json lacks.
[[nodiscard]] Tokenizer read_tokenizer(const std::filesystem::path& folder);

}  // namespace hpo::text
