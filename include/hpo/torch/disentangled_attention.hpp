// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>

#include "hpo/text/encoder_config.hpp"
#include "hpo/torch/adapted_linear.hpp"

namespace hpo::torch {

/// What the distances between tokens are embedded as, for texts of one length.
struct DistanceTable {
    ::torch::Tensor embeddings;  ///< [rows, hidden]
    ::torch::Tensor rows;        ///< [tokens, tokens]: the row of j as seen from i
};

/// DeBERTa's attention (He et al. 2021), without the projection of its output: a score is the sum of content to content, content to
/// distance and distance to content, where distances have their queries and keys from the same projections as contents (v3).
class DisentangledAttention final : public ::torch::nn::Module {
public:
    explicit DisentangledAttention(const text::EncoderConfig& config);

    /// [examples, tokens, hidden] to the same; `bias` as attention_bias makes it.
    [[nodiscard]] ::torch::Tensor forward(const ::torch::Tensor& x, const ::torch::Tensor& bias, const DistanceTable& distances);

private:
    std::int64_t heads_;
    Linear query_{nullptr};
    Linear key_{nullptr};
    Linear value_{nullptr};
    ::torch::nn::Dropout distance_dropout_{nullptr};
    ::torch::nn::Dropout dropout_{nullptr};
};

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/disentangled_attention_inl.hpp"
#endif
