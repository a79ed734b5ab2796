// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "hpo/text/encoder_config.hpp"
#include "hpo/torch/adapted_linear.hpp"

namespace hpo::torch {

/// What is added to attention scores so that nothing attends to padding: [examples, 1, 1, tokens] from a mask
/// [examples, tokens] of 1 for a token and 0 for padding. No mask gives no tensor.
[[nodiscard]] inline ::torch::Tensor attention_bias(const ::torch::Tensor& mask, ::torch::ScalarType type) {
    if (!mask.defined()) return {};
    const ::torch::Tensor padding = mask.eq(0).unsqueeze(1).unsqueeze(2);
    return ::torch::zeros(padding.sizes(), mask.options().dtype(::torch::kFloat))
        .masked_fill(padding, std::numeric_limits<float>::lowest())
        .to(type);
}

/// Multi-head scaled dot-product attention of a text to itself (Vaswani et al. 2017), without the projection of its output.
class SelfAttention final : public ::torch::nn::Module {
public:
    explicit SelfAttention(const text::EncoderConfig& config) : heads_{config.heads}, dropout_{config.attention_dropout} {
        query_ = register_module("query", Linear{config.hidden, config.hidden});
        key_ = register_module("key", Linear{config.hidden, config.hidden});
        value_ = register_module("value", Linear{config.hidden, config.hidden});
    }

    /// [examples, tokens, hidden] to the same; `bias` as attention_bias makes it.
    [[nodiscard]] ::torch::Tensor forward(const ::torch::Tensor& x, const ::torch::Tensor& bias) {
        const auto split = [&](const ::torch::Tensor& y) { return y.view({x.size(0), x.size(1), heads_, -1}).transpose(1, 2); };
        return attend(split(query_(x)), split(key_(x)), split(value_(x)), bias).transpose(1, 2).flatten(2);
    }

private:
    /// Each [examples, heads, tokens, hidden / heads].
    [[nodiscard]] ::torch::Tensor attend(const ::torch::Tensor& queries, const ::torch::Tensor& keys, const ::torch::Tensor& values,
                                         const ::torch::Tensor& bias) const {
        const double dropout = is_training() ? dropout_ : 0;
#if TORCH_VERSION_MAJOR >= 2  // which does not keep the scores where it has a kernel for that
        using Bias = std::optional<::torch::Tensor>;
        return at::scaled_dot_product_attention(queries, keys, values, bias.defined() ? Bias{bias.to(queries.scalar_type())} : Bias{},
                                                dropout);
#else
        ::torch::Tensor scores = queries.matmul(keys.transpose(2, 3)) / std::sqrt(static_cast<double>(queries.size(3)));
        if (bias.defined()) scores = scores + bias;
        return ::torch::dropout(scores.softmax(3), dropout, dropout > 0).matmul(values);
#endif
    }

    std::int64_t heads_;
    double dropout_;
    Linear query_{nullptr};
    Linear key_{nullptr};
    Linear value_{nullptr};
};

}  // namespace hpo::torch
