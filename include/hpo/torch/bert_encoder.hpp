// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/text/encoder_config.hpp"
#include "hpo/torch/bert_embeddings.hpp"
#include "hpo/torch/bert_layer.hpp"
#include "hpo/torch/checkpointing.hpp"
#include "hpo/torch/load_weights.hpp"
#include "hpo/weights/weights.hpp"

namespace hpo::torch {

/// BERT's encoder (Devlin et al. 2019) or RoBERTa's (Liu et al. 2019), without a pooler: ids to a vector for each token. Parameters
/// have the names of the published checkpoints. Make one with draw_encoder or read_encoder.
class BertEncoder final : public ::torch::nn::Module {
public:
    explicit BertEncoder(const text::EncoderConfig& config) : config_{config} {
        embeddings_ = register_module("embeddings", std::make_shared<BertEmbeddings>(config));
        const auto encoder = register_module("encoder", std::make_shared<::torch::nn::Module>("encoder"));
        const auto layers = encoder->register_module("layer", ::torch::nn::ModuleList{});
        for (std::int64_t i = 0; i < config.layers; ++i) {
            layers_.push_back(std::make_shared<BertLayer>(config));
            layers->push_back(layers_.back());
        }
    }

    [[nodiscard]] const text::EncoderConfig& config() const { return config_; }
    [[nodiscard]] const std::shared_ptr<BertEmbeddings>& embeddings() const { return embeddings_; }
    [[nodiscard]] const std::vector<std::shared_ptr<BertLayer>>& layers() const { return layers_; }
    /// The names of its parts from ids to states, each after `prefix`: the embeddings, then the layers.
    [[nodiscard]] std::vector<std::string> parts(const std::string& prefix) const {
        std::vector<std::string> names{prefix + "embeddings"};
        for (std::size_t i = 0; i < layers_.size(); ++i) names.push_back(prefix + "encoder.layer." + std::to_string(i));
        return names;
    }
    /// Activation checkpointing: keeps one tensor for each layer and computes the others again in the backward pass.
    void recompute(bool on) { recompute_ = on; }

    /// Ids and mask, both [examples, tokens], to [examples, tokens, hidden]. The mask is 1 for a token and 0 for padding; an
    /// undefined one means that there is no padding. What stands at padding has no meaning. Throws BadBatch for texts that are too long.
    [[nodiscard]] ::torch::Tensor forward(const ::torch::Tensor& ids, const ::torch::Tensor& mask) {
        ::torch::Tensor x = embeddings_->forward(ids);
        const ::torch::Tensor bias = attention_bias(mask, x.scalar_type());
        for (const auto& layer : layers_) {
            const Segment segment = [layer, bias](const ::torch::Tensor& input) { return layer->forward(input, bias); };
            x = recompute_ ? recomputed(*layer, segment, x) : segment(x);
        }
        return x;
    }

private:
    text::EncoderConfig config_;
    std::shared_ptr<BertEmbeddings> embeddings_;
    std::vector<std::shared_ptr<BertLayer>> layers_;
    bool recompute_ = false;
};

/// Draws the weights of a module's linear layers and embeddings from a normal distribution, as BERT's are before they are
/// trained; biases, and the rows that stand for padding, are 0.
inline void draw_weights(::torch::nn::Module& module, double deviation) {
    const ::torch::NoGradGuard no_gradients;
    for (const auto& part : module.modules()) {
        if (auto* const linear = part->as<::torch::nn::Linear>()) {
            linear->weight.normal_(0, deviation);
            if (linear->bias.defined()) linear->bias.zero_();
        } else if (auto* const embedding = part->as<::torch::nn::Embedding>()) {
            embedding->weight.normal_(0, deviation);
            if (const auto padding = embedding->options.padding_idx()) embedding->weight[*padding].zero_();
        }
    }
}

/// An encoder that has learnt nothing. Throws Error naming the place when the sizes do not fit each other.
[[nodiscard]] inline std::shared_ptr<BertEncoder> draw_encoder(const text::EncoderConfig& config, const std::string& place) {
    text::check_sizes(config, place);
    auto encoder = std::make_shared<BertEncoder>(config);
    draw_weights(*encoder, config.initial_deviation);
    return encoder;
}

/// The encoder of a model folder as it is distributed: config.json and safetensors, whose tensors may have "bert." or "roberta."
/// before their names. `config` is that of the folder, possibly with other dropout. Throws Error naming file and field or tensor.
[[nodiscard]] inline std::shared_ptr<BertEncoder> read_encoder(const std::filesystem::path& folder, const text::EncoderConfig& config) {
    const weights::Weights weights = weights::Weights::open(folder);
    const std::string known_by = "embeddings.word_embeddings.weight";
    for (const char* prefix : {"", "bert.", "roberta."}) {
        if (weights.find(prefix + known_by) == nullptr) continue;
        auto encoder = std::make_shared<BertEncoder>(config);
        load_weights(*encoder, weights, prefix);
        return encoder;
    }
    throw Error{Errc::bad_value, weights.place() + ": lacks tensor '" + known_by + "', also with bert. or roberta. before it"};
}

[[nodiscard]] inline std::shared_ptr<BertEncoder> read_encoder(const std::filesystem::path& folder) {
    return read_encoder(folder, text::read_encoder_config(folder));
}

}  // namespace hpo::torch
