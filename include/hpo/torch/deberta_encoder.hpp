// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

#include "hpo/text/encoder_config.hpp"
#include "hpo/torch/disentangled_attention.hpp"
#include "hpo/torch/distance_rows.hpp"
#include "hpo/torch/encoder.hpp"
#include "hpo/torch/encoder_layer.hpp"
#include "hpo/torch/self_attention.hpp"

namespace hpo::torch {

/// DeBERTa-v3's encoder (He et al. 2021; He, Gao and Chen 2021). A token's place is known only by its distances to the others; the
/// layers share the embeddings of distances.
class DebertaEncoder final : public Encoder {
public:
    explicit DebertaEncoder(const text::EncoderConfig& config) : Encoder{config}, layers_{add_layers<Layer>()} {
        distances_ = stack().register_module("rel_embeddings", ::torch::nn::Embedding{2 * config.distances.to_one_side(), config.hidden});
        norm_ = stack().register_module("LayerNorm", encoder_norm(config));
    }

    [[nodiscard]] ::torch::Tensor forward(const ::torch::Tensor& ids, const ::torch::Tensor& mask) override {
        using ::torch::Tensor;
        const Tensor x = embeddings().forward(ids);
        const Tensor bias = attention_bias(mask, x.scalar_type());
        const DistanceRows needed = distance_rows(ids.size(1), config().distances, ids.device());
        // Each layer normalises anew: what it does can then be computed again without the others.
        return through(layers_, x, [bias, needed, all = distances_, norm = norm_.ptr()](Layer& layer, const Tensor& input) {
            const Tensor embeddings = norm->forward(all->weight.narrow(0, needed.begin, needed.count));
            return layer.forward(input, bias, DistanceTable{embeddings, needed.rows});
        });
    }

private:
    using Layer = EncoderLayer<DisentangledAttention>;
    std::vector<std::shared_ptr<Layer>> layers_;
    ::torch::nn::Embedding distances_{nullptr};
    ::torch::nn::LayerNorm norm_{nullptr};
};

}  // namespace hpo::torch
