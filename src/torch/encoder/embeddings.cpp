// SPDX-License-Identifier: MIT
#include "hpo/torch/encoder/embeddings.hpp"

#include <torch/torch.h>
#include <string>

#include "hpo/torch/training/batch_checks.hpp"

namespace hpo::libtorch {

EncoderEmbeddings::EncoderEmbeddings(const text::EncoderConfig& config) : config_{config} {
    using Options = torch::nn::EmbeddingOptions;
    using Family = text::EncoderConfig::Family;
    const bool counts_texts = config.family == Family::roberta;
    const Options positions{config.positions, config.hidden};
    words_ = register_module("word_embeddings", torch::nn::Embedding{Options{config.vocabulary, config.hidden}.padding_idx(config.pad)});
    if (config.family != Family::deberta) {
        positions_ = register_module("position_embeddings",
                                     torch::nn::Embedding{counts_texts ? Options{positions}.padding_idx(config.pad) : positions});
    }
    if (config.token_types > 0) types_ = register_module("token_type_embeddings", torch::nn::Embedding{config.token_types, config.hidden});
    norm_ = register_module("LayerNorm", encoder_norm(config));
    dropout_ = register_module("dropout", torch::nn::Dropout{config.hidden_dropout});
}

torch::Tensor EncoderEmbeddings::forward(const torch::Tensor& ids) {
    if (ids.dim() != 2 || ids.size(1) > config_.longest()) {
        throw BadBatch{"ids of shape " + shape_text(ids) + "; expected [examples, tokens] with at most " +
                       std::to_string(config_.longest()) + " tokens"};
    }
    torch::Tensor sum = words_(ids);
    if (!positions_.is_empty()) sum = sum + positions_(positions_of(ids));
    if (!types_.is_empty()) sum = sum + types_->weight[0];
    return dropout_(norm_(sum));
}

torch::Tensor EncoderEmbeddings::positions_of(const torch::Tensor& ids) const {
    if (config_.family == text::EncoderConfig::Family::bert) return torch::arange(ids.size(1), ids.options());
    const torch::Tensor counted = ids.ne(config_.pad).to(torch::kLong);
    return counted.cumsum(1) * counted + config_.pad;
}

}  // namespace hpo::libtorch
