// SPDX-License-Identifier: MIT
#include "torch/encoder/disentangled_attention.hpp"

#include <torch/torch.h>
#include <cmath>
#include <cstdint>

namespace hpo::libtorch {

DisentangledAttention::DisentangledAttention(const text::EncoderConfig& config) : heads_{config.heads} {
    query_ = register_module("query_proj", Linear{config.hidden, config.hidden});
    key_ = register_module("key_proj", Linear{config.hidden, config.hidden});
    value_ = register_module("value_proj", Linear{config.hidden, config.hidden});
    distance_dropout_ = register_module("pos_dropout", torch::nn::Dropout{config.hidden_dropout});
    dropout_ = register_module("dropout", torch::nn::Dropout{config.attention_dropout});
}

torch::Tensor DisentangledAttention::forward(const torch::Tensor& x, const torch::Tensor& bias, const DistanceTable& distances) {
    using torch::Tensor;
    const std::int64_t tokens = x.size(1);
    const auto split = [&](const Tensor& y) { return y.view({y.size(0), y.size(1), heads_, -1}).transpose(1, 2); };
    const Tensor queries = split(query_(x));  // [examples, heads, tokens, hidden / heads]
    const Tensor keys = split(key_(x));
    const Tensor apart = distance_dropout_(distances.embeddings).unsqueeze(0);
    const auto against = [](const Tensor& content, const Tensor& place) {  // [examples, heads, tokens, rows]
        return torch::einsum("bhtd,hrd->bhtr", {content, place});
    };
    const auto pairs = [&](const Tensor& rows) { return rows.expand({x.size(0), heads_, tokens, tokens}); };
    const Tensor to_distance = against(queries, split(key_(apart))[0]).gather(3, pairs(distances.rows));
    const Tensor from_distance = against(keys, split(query_(apart))[0]).gather(3, pairs(distances.rows.t())).transpose(2, 3);
    constexpr double terms = 3;
    Tensor scores = queries.matmul(keys.transpose(2, 3)) + to_distance + from_distance;
    scores = scores / std::sqrt(terms * static_cast<double>(queries.size(3)));
    if (bias.defined()) scores = scores + bias;
    return dropout_(scores.softmax(3)).matmul(split(value_(x))).transpose(1, 2).flatten(2);
}

}  // namespace hpo::libtorch
