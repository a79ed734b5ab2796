// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "hpo/torch/encoder/encoder.hpp"
#include "hpo/torch/encoder/read_encoder.hpp"
#include "hpo/torch/task.hpp"

namespace hpo::text_classifier {

using torch::Tensor;

/// How the vectors of a text's tokens become one vector: that of the first token, or the mean over all tokens but padding.
enum class Pooling { first, mean };

/// The layers after the encoder: `depth` hidden layers of `width` units with GELU and dropout, and one logit for each class.
struct HeadShape {
    Pooling pooling = Pooling::mean;
    std::int64_t depth = 0;
    std::int64_t width = 256;
    double dropout = 0.1;
    std::int64_t classes = 2;
};

/// An encoder and a classification head. A batch holds ids and, if a text is padded, a mask.
class TextModel final : public hpo::libtorch::Model {
public:
    TextModel(std::shared_ptr<hpo::libtorch::Encoder> encoder, const HeadShape& shape) : pooling_{shape.pooling} {
        encoder_ = register_module("encoder", std::move(encoder));
        const hpo::text::EncoderConfig& config = encoder_->config();
        torch::nn::Sequential head;
        std::int64_t inputs = config.hidden;
        for (std::int64_t layer = 0; layer < shape.depth; ++layer) {
            head->push_back(torch::nn::Dropout{shape.dropout});
            head->push_back(torch::nn::Linear{inputs, shape.width});
            head->push_back(torch::nn::GELU{});
            inputs = shape.width;
        }
        head->push_back(torch::nn::Dropout{shape.dropout});
        head->push_back(torch::nn::Linear{inputs, shape.classes});
        head_ = register_module("head", std::move(head));
        hpo::libtorch::draw_weights(*head_, config.initial_deviation);
    }

    [[nodiscard]] hpo::libtorch::Outputs forward(const hpo::libtorch::Batch& batch) override {
        const Tensor mask = batch.inputs.size() > 1 ? batch.inputs[1] : Tensor{};
        return head_->forward(pooled(encoder_->forward(batch.inputs.at(0), mask), mask));
    }

private:
    [[nodiscard]] Tensor pooled(const Tensor& states, const Tensor& mask) const {
        if (pooling_ == Pooling::first) return states.select(1, 0);
        if (!mask.defined()) return states.mean(1);
        const Tensor tokens = mask.unsqueeze(2).to(states.scalar_type());
        return (states * tokens).sum(1) / tokens.sum(1);
    }

    Pooling pooling_;
    std::shared_ptr<hpo::libtorch::Encoder> encoder_;
    torch::nn::Sequential head_{nullptr};
};

}  // namespace hpo::text_classifier
