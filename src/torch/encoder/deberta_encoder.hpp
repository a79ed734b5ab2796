// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

#include "hpo/text/stored/encoder_config.hpp"
#include "hpo/torch/encoder/encoder.hpp"
#include "torch/encoder/disentangled_attention.hpp"
#include "torch/encoder/distance_rows.hpp"
#include "torch/encoder/layer.hpp"
#include "torch/encoder/self_attention.hpp"

namespace hpo::libtorch {

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
