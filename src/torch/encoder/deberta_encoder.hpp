// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>
#include <cstdint>
#include <memory>
#include <vector>

#include "hpo/text/stored/encoder_config.hpp"
#include "hpo/torch/adaptation/adapted_linear.hpp"
#include "hpo/torch/encoder/encoder.hpp"
#include "torch/encoder/layer.hpp"
#include "torch/encoder/self_attention.hpp"

namespace hpo::libtorch {

/// The bucket of a distance of `tokens`, 0 or more. Short distances have a bucket each. From half of the buckets on, the farther the
/// distances, the more of them share a bucket (He et al. 2021; similar to Raffel et al. 2020). Computed in single precision, as for the
/// published models.
[[nodiscard]] std::int64_t distance_bucket(std::int64_t tokens, const text::EncoderConfig::Distances& distances);

/// The rows of DeBERTa's distance embeddings that texts of a length need, and the row of each pair of tokens.
struct DistanceRows {
    std::int64_t begin = 0;
    std::int64_t count = 0;
    torch::Tensor rows;  ///< [tokens, tokens], from 0 to count - 1: [i, j] is the row for token j seen from token i
};

[[nodiscard]] DistanceRows distance_rows(std::int64_t tokens, const text::EncoderConfig::Distances& distances, torch::Device device);

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

/// DeBERTa-v3's encoder (He et al. 2021; He, Gao and Chen 2021). It knows a token's place only by its distances to the other tokens. The
/// layers share the embeddings of distances.
class DebertaEncoder final : public Encoder {
public:
    explicit DebertaEncoder(const text::EncoderConfig& config) : Encoder{config}, layers_{add_layers<Layer>()} {
        distances_ = stack().register_module("rel_embeddings", torch::nn::Embedding{2 * config.distances.to_one_side(), config.hidden});
        norm_ = stack().register_module("LayerNorm", encoder_norm(config));
    }

    [[nodiscard]] torch::Tensor forward(const torch::Tensor& ids, const torch::Tensor& mask) override {
        using torch::Tensor;
        const Tensor x = embeddings().forward(ids);
        const Tensor bias = attention_bias(mask, x.scalar_type());
        const DistanceRows needed = distance_rows(ids.size(1), config().distances, ids.device());
        // Each layer normalises the embeddings itself, so it can be recomputed alone.
        return through(layers_, x, [bias, needed, all = distances_, norm = norm_.ptr()](Layer& layer, const Tensor& input) {
            const Tensor embeddings = norm->forward(all->weight.narrow(0, needed.begin, needed.count));
            return layer.forward(input, bias, DistanceTable{embeddings, needed.rows});
        });
    }

private:
    using Layer = EncoderLayer<DisentangledAttention>;
    std::vector<std::shared_ptr<Layer>> layers_;
    torch::nn::Embedding distances_{nullptr};
    torch::nn::LayerNorm norm_{nullptr};
};

}  // namespace hpo::libtorch
