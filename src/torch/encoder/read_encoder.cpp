// SPDX-License-Identifier: MIT
#include "hpo/torch/encoder/read_encoder.hpp"

#include <torch/torch.h>
#include <filesystem>
#include <memory>
#include <string>

#include "hpo/base/error.hpp"
#include "hpo/torch/load_weights.hpp"
#include "hpo/weights/weights.hpp"
#include "torch/encoder/bert_encoder.hpp"
#include "torch/encoder/deberta_encoder.hpp"

namespace hpo::libtorch {

void draw_weights(torch::nn::Module& module, double deviation) {
    const torch::NoGradGuard no_gradients;
    for (const auto& part : module.modules()) {
        if (auto* const linear = part->as<torch::nn::Linear>()) {
            linear->weight.normal_(0, deviation);
            if (linear->bias.defined()) linear->bias.zero_();
        } else if (auto* const embedding = part->as<torch::nn::Embedding>()) {
            embedding->weight.normal_(0, deviation);
            if (const auto padding = embedding->options.padding_idx()) embedding->weight[*padding].zero_();
        }
    }
}

std::shared_ptr<Encoder> make_encoder(const text::EncoderConfig& config) {
    if (config.family == text::EncoderConfig::Family::deberta) return std::make_shared<DebertaEncoder>(config);
    return std::make_shared<BertEncoder>(config);
}

std::shared_ptr<Encoder> draw_encoder(const text::EncoderConfig& config, const std::string& place) {
    text::check_sizes(config, place);
    auto encoder = make_encoder(config);
    draw_weights(*encoder, config.initial_deviation);
    return encoder;
}

std::shared_ptr<Encoder> read_encoder(const std::filesystem::path& folder, const text::EncoderConfig& config) {
    const weights::Weights weights = weights::Weights::open(folder);
    const std::string known_by = "embeddings.word_embeddings.weight";
    for (const char* prefix : {"", "bert.", "roberta.", "deberta.", "encoder."}) {
        if (weights.find(prefix + known_by) == nullptr) continue;
        auto encoder = make_encoder(config);
        // DeBERTa's files may hold position embeddings, which only the pretraining used.
        const bool deberta = config.family == text::EncoderConfig::Family::deberta;
        load_weights(*encoder, weights, prefix, deberta ? "embeddings.position_embeddings.weight" : "");
        return encoder;
    }
    throw Error{Errc::bad_value,
                weights.place() + ": lacks tensor '" + known_by + "', also with bert., roberta., deberta. or encoder. before it"};
}

}  // namespace hpo::libtorch
