// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/torch/checkpointing.hpp"
#include "hpo/torch/task.hpp"

namespace image_classifier {

using ::torch::Tensor;

/// What the models are made from.
struct ModelShape {
    std::int64_t height = 28;
    std::int64_t width = 28;
    std::int64_t classes = 10;
    std::int64_t hidden = 128;   ///< model.width: units of a hidden linear layer
    std::int64_t depth = 2;      ///< hidden layers, convolutions, or residual blocks in a stage
    std::int64_t channels = 16;  ///< of the first convolution
    double dropout = 0;
    bool batch_norm = false;  ///< ResNet: instead of group norm
    bool recompute = false;   ///< activation checkpointing
};

/// A stack of segments over [examples, 1, height, width], each recomputed in the backward pass when the plan asks for it.
class SegmentedModel : public hpo::torch::Model {
public:
    [[nodiscard]] Tensor forward(const hpo::torch::Batch& batch) final {
        Tensor x = batch.inputs.at(0);
        for (const hpo::torch::Segment& segment : segments_) x = recompute_ ? hpo::torch::recomputed(segment, x) : segment(x);
        return head_->forward(x);
    }

protected:
    explicit SegmentedModel(bool recompute) : recompute_{recompute} {}
    void add(hpo::torch::Segment segment) { segments_.push_back(std::move(segment)); }
    void end_with(::torch::nn::Sequential head) { head_ = register_module("head", std::move(head)); }
    [[nodiscard]] std::string next_name() const { return "segment" + std::to_string(segments_.size()); }

private:
    std::vector<hpo::torch::Segment> segments_;
    ::torch::nn::Sequential head_{nullptr};
    bool recompute_;
};

/// Linear layers of one width with ReLU and dropout.
class Mlp final : public SegmentedModel {
public:
    explicit Mlp(const ModelShape& shape) : SegmentedModel{shape.recompute} {
        std::int64_t inputs = shape.height * shape.width;
        for (std::int64_t layer = 0; layer < shape.depth; ++layer) {
            const auto linear = register_module(next_name(), ::torch::nn::Linear{inputs, shape.hidden});
            const auto dropout = register_module(next_name() + "_dropout", ::torch::nn::Dropout{shape.dropout});
            add([linear, dropout](const Tensor& x) { return dropout->forward(::torch::relu(linear->forward(x.flatten(1)))); });
            inputs = shape.hidden;
        }
        end_with(::torch::nn::Sequential{::torch::nn::Linear{inputs, shape.classes}});
    }
};

/// 3x3 convolutions, each followed by ReLU and, while the image has 8 pixels or more a side, by pooling that halves it; channels double
/// twice. One hidden linear layer of model.width units follows.
class Cnn final : public SegmentedModel {
public:
    explicit Cnn(const ModelShape& shape) : SegmentedModel{shape.recompute} {
        std::int64_t inputs = 1;
        std::int64_t height = shape.height;
        std::int64_t width = shape.width;
        for (std::int64_t layer = 0; layer < shape.depth; ++layer) {
            const std::int64_t outputs = shape.channels << std::min<std::int64_t>(layer, 2);
            const auto convolution =
                register_module(next_name(), ::torch::nn::Conv2d{::torch::nn::Conv2dOptions{inputs, outputs, 3}.padding(1)});
            const bool pool = std::min(height, width) >= 8;
            add([convolution, pool](const Tensor& x) {
                const Tensor y = ::torch::relu(convolution->forward(x));
                return pool ? ::torch::max_pool2d(y, 2) : y;
            });
            if (pool) {
                height /= 2;
                width /= 2;
            }
            inputs = outputs;
        }
        end_with(::torch::nn::Sequential{::torch::nn::Flatten{}, ::torch::nn::Linear{inputs * height * width, shape.hidden},
                                         ::torch::nn::ReLU{}, ::torch::nn::Dropout{shape.dropout},
                                         ::torch::nn::Linear{shape.hidden, shape.classes}});
    }
};

/// Two 3x3 convolutions with a shortcut (He et al. 2016), normalised by group (Wu and He 2018) or by batch.
class ResidualBlock final : public ::torch::nn::Module {
public:
    struct Channels {
        std::int64_t in;
        std::int64_t out;
    };
    ResidualBlock(Channels channels, std::int64_t stride, bool batch_norm) {
        first_ = register_module("first", convolution(channels, 3, stride));
        first_norm_ = register_module("first_norm", norm(channels.out, batch_norm));
        second_ = register_module("second", convolution({channels.out, channels.out}, 3, 1));
        second_norm_ = register_module("second_norm", norm(channels.out, batch_norm));
        if (stride != 1 || channels.in != channels.out) shortcut_ = register_module("shortcut", convolution(channels, 1, stride));
    }
    [[nodiscard]] Tensor forward(const Tensor& x) {
        const Tensor y = second_norm_->forward(second_(::torch::relu(first_norm_->forward(first_(x)))));
        return ::torch::relu(y + (shortcut_.is_empty() ? x : shortcut_(x)));
    }
    static ::torch::nn::Conv2d convolution(Channels channels, std::int64_t size, std::int64_t stride) {
        return ::torch::nn::Conv2d{
            ::torch::nn::Conv2dOptions{channels.in, channels.out, size}.stride(stride).padding(size / 2).bias(false)};
    }
    static ::torch::nn::Sequential norm(std::int64_t channels, bool batch_norm) {
        if (batch_norm) return ::torch::nn::Sequential{::torch::nn::BatchNorm2d{channels}};
        return ::torch::nn::Sequential{::torch::nn::GroupNorm{std::gcd(channels, std::int64_t{8}), channels}};
    }

private:
    ::torch::nn::Conv2d first_{nullptr};
    ::torch::nn::Conv2d second_{nullptr};
    ::torch::nn::Conv2d shortcut_{nullptr};
    ::torch::nn::Sequential first_norm_{nullptr};
    ::torch::nn::Sequential second_norm_{nullptr};
};

/// A stem, three stages of `depth` residual blocks with c, 2c and 4c channels, the mean over the image, one linear layer.
class ResNet final : public SegmentedModel {
public:
    explicit ResNet(const ModelShape& shape) : SegmentedModel{shape.recompute} {
        const auto stem = register_module(next_name(), ResidualBlock::convolution({1, shape.channels}, 3, 1));
        const auto stem_norm = register_module(next_name() + "_norm", ResidualBlock::norm(shape.channels, shape.batch_norm));
        add([stem, stem_norm](const Tensor& x) { return ::torch::relu(stem_norm->forward(stem->forward(x))); });
        std::int64_t inputs = shape.channels;
        for (std::int64_t stage = 0; stage < 3; ++stage) {
            const std::int64_t outputs = shape.channels << stage;
            for (std::int64_t i = 0; i < shape.depth; ++i) {
                const std::int64_t stride = stage > 0 && i == 0 ? 2 : 1;
                const auto block = register_module(
                    next_name(), std::make_shared<ResidualBlock>(ResidualBlock::Channels{inputs, outputs}, stride, shape.batch_norm));
                add([block](const Tensor& x) { return block->forward(x); });
                inputs = outputs;
            }
        }
        end_with(::torch::nn::Sequential{::torch::nn::AdaptiveAvgPool2d{1}, ::torch::nn::Flatten{}, ::torch::nn::Dropout{shape.dropout},
                                         ::torch::nn::Linear{inputs, shape.classes}});
    }
};

/// The model named "mlp", "cnn" or "resnet".
[[nodiscard]] inline std::shared_ptr<hpo::torch::Model> make_model(std::string_view kind, const ModelShape& shape) {
    if (kind == "mlp") return std::make_shared<Mlp>(shape);
    if (kind == "cnn") return std::make_shared<Cnn>(shape);
    return std::make_shared<ResNet>(shape);
}

}  // namespace image_classifier
