// SPDX-License-Identifier: MIT
#include "torch/encoder/self_attention.hpp"

#include <torch/torch.h>
#include <cmath>
#include <limits>
#include <optional>

namespace hpo::libtorch {

torch::Tensor attention_bias(const torch::Tensor& mask, torch::ScalarType type) {
    if (!mask.defined()) return {};
    const torch::Tensor padding = mask.eq(0).unsqueeze(1).unsqueeze(2);
    return torch::zeros(padding.sizes(), mask.options().dtype(torch::kFloat))
        .masked_fill(padding, std::numeric_limits<float>::lowest())
        .to(type);
}

SelfAttention::SelfAttention(const text::EncoderConfig& config) : heads_{config.heads}, dropout_{config.attention_dropout} {
    query_ = register_module("query", Linear{config.hidden, config.hidden});
    key_ = register_module("key", Linear{config.hidden, config.hidden});
    value_ = register_module("value", Linear{config.hidden, config.hidden});
}

torch::Tensor SelfAttention::attend(const torch::Tensor& queries, const torch::Tensor& keys, const torch::Tensor& values,
                                    const torch::Tensor& bias) const {
    const double dropout = is_training() ? dropout_ : 0;
#if TORCH_VERSION_MAJOR >= 2  // it keeps no scores if it has a kernel for that
    using Bias = std::optional<torch::Tensor>;
    return at::scaled_dot_product_attention(queries, keys, values, bias.defined() ? Bias{bias.to(queries.scalar_type())} : Bias{}, dropout);
#else
    torch::Tensor scores = queries.matmul(keys.transpose(2, 3)) / std::sqrt(static_cast<double>(queries.size(3)));
    if (bias.defined()) scores = scores + bias;
    return torch::dropout(scores.softmax(3), dropout, dropout > 0).matmul(values);
#endif
}

}  // namespace hpo::libtorch
