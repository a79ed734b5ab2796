// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>

#include "hpo/text/stored/encoder_config.hpp"
#include "hpo/torch/adaptation/adapted_linear.hpp"

namespace hpo::libtorch {

/// What is added to attention scores so that no token attends to padding: [examples, 1, 1, tokens]. `mask` is [examples, tokens], 1 for a
/// token and 0 for padding. An undefined mask gives an undefined tensor.
[[nodiscard]] torch::Tensor attention_bias(const torch::Tensor& mask, torch::ScalarType type);

/// Multi-head scaled dot-product self-attention (Vaswani et al. 2017), without the projection of its output.
class SelfAttention final : public torch::nn::Module {
public:
    explicit SelfAttention(const text::EncoderConfig& config);

    /// Takes and returns [examples, tokens, hidden]. `bias` comes from attention_bias.
    [[nodiscard]] torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& bias) {
        const auto split = [&](const torch::Tensor& y) { return y.view({x.size(0), x.size(1), heads_, -1}).transpose(1, 2); };
        return attend(split(query_(x)), split(key_(x)), split(value_(x)), bias).transpose(1, 2).flatten(2);
    }

private:
    /// All tensors but `bias` are [examples, heads, tokens, hidden / heads].
    [[nodiscard]] torch::Tensor attend(const torch::Tensor& queries, const torch::Tensor& keys, const torch::Tensor& values,
                                       const torch::Tensor& bias) const;

    std::int64_t heads_;
    double dropout_;
    Linear query_{nullptr};
    Linear key_{nullptr};
    Linear value_{nullptr};
};

}  // namespace hpo::libtorch
