// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <memory>
#include <string>

#include "hpo/text/stored/encoder_config.hpp"
#include "hpo/torch/encoder/encoder.hpp"

namespace hpo::libtorch {

/// Draws the weights of a module's linear layers and embeddings from a normal distribution, as BERT does before training. Biases, and the
/// rows for padding, are 0.
void draw_weights(torch::nn::Module& module, double deviation);

/// An encoder of the configuration's family. Its weights are not set yet.
[[nodiscard]] std::shared_ptr<Encoder> make_encoder(const text::EncoderConfig& config);

/// An untrained encoder. Throws Error with the place if the sizes do not fit each other.
[[nodiscard]] std::shared_ptr<Encoder> draw_encoder(const text::EncoderConfig& config, const std::string& place);

/// The encoder of a model folder (config.json and safetensors). Tensor names may start with "bert.", "roberta." or "deberta.", or with
/// "encoder.", as text_classifier saves them. `config` is the folder's configuration, but its dropout may differ. Throws Error with file
/// and field or tensor.
[[nodiscard]] std::shared_ptr<Encoder> read_encoder(const std::filesystem::path& folder, const text::EncoderConfig& config);

[[nodiscard]] inline std::shared_ptr<Encoder> read_encoder(const std::filesystem::path& folder) {
    return read_encoder(folder, text::read_encoder_config(folder));
}

}  // namespace hpo::libtorch
