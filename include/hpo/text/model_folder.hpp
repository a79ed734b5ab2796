// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "hpo/text/tokenizer.hpp"

namespace hpo::text {

/// The tokenizer of a model folder as it is distributed: WordPiece from `vocab.txt`, byte-level BPE from `vocab.json` and
/// `merges.txt`, SentencePiece from `spm.model` or, of an XLM-RoBERTa, `sentencepiece.bpe.model`, set up by tokenizer_config.json and
/// special_tokens_map.json where they are. Throws Error naming file and field, also when config.json's `vocab_size` is another number than
/// that of the tokens, but for padding, when merges that the vocabulary was made with are missing, and for a token of `added_tokens.json`
/// that tokenizer_config.json lacks.
[[nodiscard]] Tokenizer read_tokenizer(const std::filesystem::path& folder);

}  // namespace hpo::text

#ifndef HPO_COMPILED
#include "hpo/text/impl/model_folder_inl.hpp"
#endif
