// SPDX-License-Identifier: MIT
#include "torch/encoder/deberta_encoder.hpp"

#include <torch/torch.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace hpo::libtorch {

std::int64_t distance_bucket(std::int64_t tokens, const text::EncoderConfig::Distances& distances) {
    const std::int64_t near = distances.buckets / 2;
    if (distances.buckets == 0 || tokens <= near) return tokens;
    const auto half = static_cast<float>(near);
    const float whole_range = std::log(static_cast<float>(static_cast<double>(distances.farthest - 1) / static_cast<double>(near)));
    const float share = std::log(static_cast<float>(tokens) / half) / whole_range;
    return static_cast<std::int64_t>(std::ceil(share * (half - 1)) + half);
}

DistanceRows distance_rows(std::int64_t tokens, const text::EncoderConfig::Distances& distances, torch::Device device) {
    const std::int64_t middle = distances.to_one_side();
    std::vector<std::int64_t> row;  // for the distances -(tokens - 1) to tokens - 1
    for (std::int64_t d = 1 - tokens; d < tokens; ++d) {
        const std::int64_t bucket = distance_bucket(std::abs(d), distances);
        row.push_back(std::clamp<std::int64_t>(middle + (d < 0 ? -bucket : bucket), 0, 2 * middle - 1));
    }
    const std::int64_t begin = row.front();
    const torch::Tensor rows = torch::tensor(row, torch::kLong).to(device) - begin;
    const torch::Tensor places = torch::arange(tokens, torch::TensorOptions{torch::kLong}.device(device));
    return {begin, row.back() - begin + 1, rows.index({places.unsqueeze(1) - places.unsqueeze(0) + (tokens - 1)})};
}

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
