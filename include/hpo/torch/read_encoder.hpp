// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <memory>
#include <string>

#include "hpo/text/encoder_config.hpp"
#include "hpo/torch/encoder.hpp"

namespace hpo::torch {

/// Draws the weights of a module's linear layers and embeddings from a normal distribution, as BERT's are before they are
/// trained; biases, and the rows that stand for padding, are 0.
void draw_weights(::torch::nn::Module& module, double deviation);

/// An encoder of the configuration's family whose weights mean nothing yet.
[[nodiscard]] std::shared_ptr<Encoder> make_encoder(const text::EncoderConfig& config);

/// An encoder that has learnt nothing. Throws Error naming the place when the sizes do not fit each other.
[[nodiscard]] std::shared_ptr<Encoder> draw_encoder(const text::EncoderConfig& config, const std::string& place);

/// The encoder of a model folder as it is distributed: config.json and safetensors, whose tensors may have "bert.", "roberta." or
/// "deberta." before their names, or "encoder.", as text_classifier saves them. `config` is that of the folder, possibly with other
/// dropout. Throws Error naming file and field or tensor.
[[nodiscard]] std::shared_ptr<Encoder> read_encoder(const std::filesystem::path& folder, const text::EncoderConfig& config);

[[nodiscard]] inline std::shared_ptr<Encoder> read_encoder(const std::filesystem::path& folder) {
    return read_encoder(folder, text::read_encoder_config(folder));
}

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/read_encoder_inl.hpp"
#endif
