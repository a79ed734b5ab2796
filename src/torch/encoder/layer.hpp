// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>

#include "hpo/text/stored/encoder_config.hpp"
#include "hpo/torch/adaptation/adapted_linear.hpp"
#include "hpo/torch/encoder/embeddings.hpp"

namespace hpo::libtorch {

[[nodiscard]] inline torch::Tensor activated(const torch::Tensor& x, text::Activation activation) {
    switch (activation) {
        case text::Activation::gelu: return torch::gelu(x);
        case text::Activation::gelu_tanh: return torch::gelu(x, "tanh");
        case text::Activation::relu: return torch::relu(x);
    }
    return x;
}

/// Projects to the hidden size, adds the block's input, and normalises the sum.
class ResidualOutput final : public torch::nn::Module {
public:
    ResidualOutput(const text::EncoderConfig& config, std::int64_t inputs) {
        dense_ = register_module("dense", Linear{inputs, config.hidden});
        norm_ = register_module("LayerNorm", encoder_norm(config));
        dropout_ = register_module("dropout", torch::nn::Dropout{config.hidden_dropout});
    }
    [[nodiscard]] torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& beginning) {
        return norm_(dropout_(dense_(x)) + beginning);
    }

private:
    Linear dense_{nullptr};
    torch::nn::LayerNorm norm_{nullptr};
    torch::nn::Dropout dropout_{nullptr};
};

/// One layer of an encoder: self-attention, then a feed-forward network. Each is followed by a normalisation.
template <class Attention>
class EncoderLayer final : public torch::nn::Module {
public:
    explicit EncoderLayer(const text::EncoderConfig& config) : activation_{config.activation} {
        const auto attention = register_module("attention", std::make_shared<torch::nn::Module>("attention"));
        attention_ = attention->register_module("self", std::make_shared<Attention>(config));
        attention_output_ = attention->register_module("output", std::make_shared<ResidualOutput>(config, config.hidden));
        const auto intermediate = register_module("intermediate", std::make_shared<torch::nn::Module>("intermediate"));
        expand_ = intermediate->register_module("dense", Linear{config.hidden, config.intermediate});
        output_ = register_module("output", std::make_shared<ResidualOutput>(config, config.intermediate));
    }

    /// Takes and returns [examples, tokens, hidden]. `context` holds further arguments of the attention's forward.
    template <class... Context>
    [[nodiscard]] torch::Tensor forward(const torch::Tensor& x, const Context&... context) {
        const torch::Tensor attended = attention_output_->forward(attention_->forward(x, context...), x);
        return output_->forward(activated(expand_(attended), activation_), attended);
    }

private:
    text::Activation activation_;
    std::shared_ptr<Attention> attention_;
    std::shared_ptr<ResidualOutput> attention_output_;
    Linear expand_{nullptr};
    std::shared_ptr<ResidualOutput> output_;
};

}  // namespace hpo::libtorch
