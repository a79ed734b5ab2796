// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include "hpo/text/stored/encoder_config.hpp"

namespace hpo::libtorch {

/// A layer norm over the last dimension, with the encoder's epsilon.
[[nodiscard]] inline torch::nn::LayerNorm encoder_norm(const text::EncoderConfig& config) {
    return torch::nn::LayerNorm{torch::nn::LayerNormOptions{{config.hidden}}.eps(config.layer_norm_epsilon)};
}

/// Turns ids into vectors: the normalised sum of the embeddings of the token, its position and its type (always the first). BERT counts
/// positions from 0. RoBERTa counts the ids that are not padding, from `pad` + 1, and gives padding the row `pad`. DeBERTa leaves positions
/// to its attention.
class EncoderEmbeddings final : public torch::nn::Module {
public:
    explicit EncoderEmbeddings(const text::EncoderConfig& config);

    /// Turns ids [examples, tokens] into [examples, tokens, hidden]. Throws BadBatch for texts with more tokens than positions.
    [[nodiscard]] torch::Tensor forward(const torch::Tensor& ids);

private:
    [[nodiscard]] torch::Tensor positions_of(const torch::Tensor& ids) const;

    text::EncoderConfig config_;
    torch::nn::Embedding words_{nullptr};
    torch::nn::Embedding positions_{nullptr};
    torch::nn::Embedding types_{nullptr};
    torch::nn::LayerNorm norm_{nullptr};
    torch::nn::Dropout dropout_{nullptr};
};

}  // namespace hpo::libtorch
