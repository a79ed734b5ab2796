// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hpo/text/stored/encoder_config.hpp"
#include "hpo/torch/checkpointing.hpp"
#include "hpo/torch/encoder/embeddings.hpp"

namespace hpo::libtorch {

/// A transformer encoder for texts, without a pooler. It turns ids into a vector for each token. Its parameters have the names of the
/// published checkpoints. Make one with draw_encoder or read_encoder (encoder/read_encoder.hpp).
class Encoder : public torch::nn::Module {
public:
    [[nodiscard]] const text::EncoderConfig& config() const { return config_; }
    /// The names of its parts, from the ids to the output, each after `prefix`. The first is the embeddings with what the layers share.
    /// Then come the layers.
    [[nodiscard]] std::vector<std::string> parts(const std::string& prefix) const {
        std::vector<std::string> names{prefix + "embeddings"};
        for (const auto& child : stack_->named_children()) {
            if (child.key() != "layer") names.front() += " " + prefix + "encoder." + child.key();
        }
        for (std::int64_t i = 0; i < config_.layers; ++i) names.push_back(prefix + "encoder.layer." + std::to_string(i));
        return names;
    }
    /// Activation checkpointing: keeps one tensor for each layer and computes the others again in the backward pass.
    void recompute(bool on) { recompute_ = on; }

    /// Turns ids and mask, both [examples, tokens], into [examples, tokens, hidden]. The mask is 1 for a token and 0 for padding. An
    /// undefined mask means that there is no padding. The vectors at padding have no meaning. Throws BadBatch for texts that are too long.
    [[nodiscard]] virtual torch::Tensor forward(const torch::Tensor& ids, const torch::Tensor& mask) = 0;

protected:
    explicit Encoder(const text::EncoderConfig& config) : config_{config} {
        embeddings_ = register_module("embeddings", std::make_shared<EncoderEmbeddings>(config));
        stack_ = register_module("encoder", std::make_shared<torch::nn::Module>("encoder"));
    }
    [[nodiscard]] EncoderEmbeddings& embeddings() const { return *embeddings_; }
    /// The module whose names start with "encoder." in the checkpoints.
    [[nodiscard]] torch::nn::Module& stack() const { return *stack_; }

    /// Registers `config().layers` new layers.
    template <class Layer>
    [[nodiscard]] std::vector<std::shared_ptr<Layer>> add_layers() {
        std::vector<std::shared_ptr<Layer>> layers;
        const auto list = stack_->register_module("layer", torch::nn::ModuleList{});
        for (std::int64_t i = 0; i < config_.layers; ++i) {
            layers.push_back(std::make_shared<Layer>(config_));
            list->push_back(layers.back());
        }
        return layers;
    }
    /// Calls `apply(layer, x)` for each layer, one after the other. `apply` may use the layer's parameters and those that it holds itself,
    /// but no other tensor that has a gradient.
    template <class Layer, class Apply>
    [[nodiscard]] torch::Tensor through(const std::vector<std::shared_ptr<Layer>>& layers, torch::Tensor x, const Apply& apply) const {
        for (const auto& layer : layers) {
            const Segment segment = [layer, apply](const torch::Tensor& input) { return apply(*layer, input); };
            x = recompute_ ? recomputed(*layer, segment, x) : segment(x);
        }
        return x;
    }

private:
    text::EncoderConfig config_;
    std::shared_ptr<EncoderEmbeddings> embeddings_;
    std::shared_ptr<torch::nn::Module> stack_;
    bool recompute_ = false;
};

}  // namespace hpo::libtorch
