// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

#include "hpo/text/stored/encoder_config.hpp"
#include "hpo/torch/encoder/encoder.hpp"
#include "torch/encoder/layer.hpp"
#include "torch/encoder/self_attention.hpp"

namespace hpo::libtorch {

/// BERT's encoder (Devlin et al. 2019) or RoBERTa's (Liu et al. 2019).
class BertEncoder final : public Encoder {
public:
    explicit BertEncoder(const text::EncoderConfig& config) : Encoder{config}, layers_{add_layers<Layer>()} {}

    [[nodiscard]] torch::Tensor forward(const torch::Tensor& ids, const torch::Tensor& mask) override {
        const torch::Tensor x = embeddings().forward(ids);
        const torch::Tensor bias = attention_bias(mask, x.scalar_type());
        return through(layers_, x, [bias](Layer& layer, const torch::Tensor& input) { return layer.forward(input, bias); });
    }

private:
    using Layer = EncoderLayer<SelfAttention>;
    std::vector<std::shared_ptr<Layer>> layers_;
};

}  // namespace hpo::libtorch
