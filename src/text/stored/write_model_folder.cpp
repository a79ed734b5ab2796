// SPDX-License-Identifier: MIT
#include "hpo/text/stored/write_model_folder.hpp"

#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "hpo/base/error.hpp"

namespace hpo::text {

void write_text_file(const std::filesystem::path& file, const std::string& text) {
    std::ofstream out{file, std::ios::binary};
    out << text;
    if (!out.flush()) throw Error{Errc::store, file.string() + ": cannot be written"};
}

void write_bert_config(const EncoderConfig& config, const std::filesystem::path& folder) {
    constexpr std::array activations{"gelu", "gelu_new", "relu"};
    const nlohmann::ordered_json fields{{"model_type", "bert"},
                                        {"vocab_size", config.vocabulary},
                                        {"hidden_size", config.hidden},
                                        {"num_hidden_layers", config.layers},
                                        {"num_attention_heads", config.heads},
                                        {"intermediate_size", config.intermediate},
                                        {"max_position_embeddings", config.positions},
                                        {"type_vocab_size", config.token_types},
                                        {"pad_token_id", config.pad},
                                        {"hidden_act", activations.at(static_cast<std::size_t>(config.activation))},
                                        {"layer_norm_eps", config.layer_norm_epsilon},
                                        {"hidden_dropout_prob", config.hidden_dropout},
                                        {"attention_probs_dropout_prob", config.attention_dropout},
                                        {"initializer_range", config.initial_deviation}};
    write_text_file(folder / "config.json", fields.dump(2) + "\n");
}

void write_word_pieces(const Tokenizer& tokenizer, const std::filesystem::path& folder) {
    std::string lines;
    for (std::size_t id = 0; id < tokenizer.size(); ++id) lines += tokenizer.token(static_cast<TokenId>(id)) + "\n";
    write_text_file(folder / "vocab.txt", lines);
    write_text_file(folder / "tokenizer_config.json", "{\"tokenizer_class\": \"BertTokenizer\", \"do_lower_case\": true}\n");
}

void copy_model_files(const ModelFolders& folders) {
    const auto& [from, to] = folders;
    for (const char* name : {"config.json", "vocab.txt", "vocab.json", "merges.txt", "spm.model", "sentencepiece.bpe.model",
                             "added_tokens.json", "tokenizer_config.json", "special_tokens_map.json"}) {
        if (!std::filesystem::exists(from / name)) continue;
        std::error_code error;
        std::filesystem::copy_file(from / name, to / name, error);
        if (error) throw Error{Errc::store, (to / name).string() + ": cannot be written: " + error.message()};
    }
}

}  // namespace hpo::text
