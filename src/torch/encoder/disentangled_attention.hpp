// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>

#include "hpo/text/stored/encoder_config.hpp"
#include "hpo/torch/adaptation/adapted_linear.hpp"

namespace hpo::libtorch {

/// The embeddings of the distances between tokens, for texts of one length.
struct DistanceTable {
    torch::Tensor embeddings;  ///< [rows, hidden]
    torch::Tensor rows;        ///< [tokens, tokens]: [i, j] is the row for token j seen from token i
};

/// DeBERTa's attention (He et al. 2021), without the projection of its output. A score is the sum of content to content, content to
/// distance and distance to content. As in v3, queries and keys of distances come from the same projections as those of contents.
class DisentangledAttention final : public torch::nn::Module {
public:
    explicit DisentangledAttention(const text::EncoderConfig& config);

    /// Takes and returns [examples, tokens, hidden]. `bias` comes from attention_bias.
    [[nodiscard]] torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& bias, const DistanceTable& distances);

private:
    std::int64_t heads_;
    Linear query_{nullptr};
    Linear key_{nullptr};
    Linear value_{nullptr};
    torch::nn::Dropout distance_dropout_{nullptr};
    torch::nn::Dropout dropout_{nullptr};
};

}  // namespace hpo::libtorch
