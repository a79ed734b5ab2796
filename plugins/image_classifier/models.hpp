// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/torch/adaptation/adapted_conv2d.hpp"
#include "hpo/torch/adaptation/adapted_linear.hpp"
#include "hpo/torch/checkpointing.hpp"
#include "hpo/torch/task.hpp"

namespace hpo::image_classifier {

using torch::Tensor;

/// The sizes and options of the models.
struct ModelShape {
    std::int64_t height = 28;
    std::int64_t width = 28;
    std::int64_t classes = 10;
    std::int64_t hidden = 128;   ///< model.width: units of a hidden linear layer
    std::int64_t depth = 2;      ///< hidden layers, convolutions, or residual blocks in a stage
    std::int64_t channels = 16;  ///< of the first convolution
    double dropout = 0;
    bool batch_norm = false;  ///< ResNet: batch norm instead of group norm
    bool recompute = false;   ///< activation checkpointing
};

/// A part of a model that takes one tensor and returns one.
class Part : public torch::nn::Module {
public:
    [[nodiscard]] virtual Tensor forward(const Tensor& x) = 0;
};

/// A stack of segments over [examples, 1, height, width], and a linear head. If the plan asks for it, each segment is recomputed in the
/// backward pass. Parameters are named segment0..., segment1..., head.weight, head.bias.
class SegmentedModel : public hpo::libtorch::Model {
public:
    [[nodiscard]] hpo::libtorch::Outputs forward(const hpo::libtorch::Batch& batch) final {
        Tensor x = batch.inputs.at(0);
        for (const auto& part : segments_) {
            const hpo::libtorch::Segment segment = [&part](const Tensor& input) { return part->forward(input); };
            x = recompute_ ? hpo::libtorch::recomputed(*part, segment, x) : segment(x);
        }
        return head_(x);
    }
    /// The names of the segments, followed by the head's.
    [[nodiscard]] std::vector<std::string> parts() const {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < segments_.size(); ++i) names.push_back(name_of(i));
        names.emplace_back("head");
        return names;
    }

protected:
    explicit SegmentedModel(bool recompute) : recompute_{recompute} {}
    void add(std::shared_ptr<Part> segment) { segments_.push_back(register_module(name_of(segments_.size()), std::move(segment))); }
    void end_with(hpo::libtorch::Linear head) { head_ = register_module("head", std::move(head)); }

private:
    static std::string name_of(std::size_t segment) { return "segment" + std::to_string(segment); }

    std::vector<std::shared_ptr<Part>> segments_;
    hpo::libtorch::Linear head_{nullptr};
    bool recompute_;
};

/// The numbers of inputs and outputs of a layer.
struct Width {
    std::int64_t in;
    std::int64_t out;
};

/// A linear layer with ReLU and dropout.
class DenseLayer final : public Part {
public:
    DenseLayer(Width width, double dropout) {
        linear_ = register_module("linear", hpo::libtorch::Linear{width.in, width.out});
        dropout_ = register_module("dropout", torch::nn::Dropout{dropout});
    }
    [[nodiscard]] Tensor forward(const Tensor& x) override { return dropout_(torch::relu(linear_(x.flatten(1)))); }

private:
    hpo::libtorch::Linear linear_{nullptr};
    torch::nn::Dropout dropout_{nullptr};
};

/// Linear layers of one width.
class Mlp final : public SegmentedModel {
public:
    explicit Mlp(const ModelShape& shape) : SegmentedModel{shape.recompute} {
        std::int64_t inputs = shape.height * shape.width;
        for (std::int64_t layer = 0; layer < shape.depth; ++layer) {
            add(std::make_shared<DenseLayer>(Width{inputs, shape.hidden}, shape.dropout));
            inputs = shape.hidden;
        }
        end_with(hpo::libtorch::Linear{inputs, shape.classes});
    }
};

/// A 3x3 convolution with ReLU. Pooling halves the image if it is large enough.
class ConvolutionLayer final : public Part {
public:
    ConvolutionLayer(Width channels, bool pool) : pool_{pool} {
        const auto options = torch::nn::Conv2dOptions{channels.in, channels.out, 3}.padding(1);
        convolution_ = register_module("convolution", hpo::libtorch::Conv2d{options});
    }
    [[nodiscard]] Tensor forward(const Tensor& x) override {
        const Tensor y = torch::relu(convolution_(x));
        return pool_ ? torch::max_pool2d(y, 2) : y;
    }

private:
    hpo::libtorch::Conv2d convolution_{nullptr};
    bool pool_;
};

/// Convolutions, pooled while the image has 8 pixels or more on a side. The channels double twice. A hidden linear layer of model.width
/// units follows.
class Cnn final : public SegmentedModel {
public:
    explicit Cnn(const ModelShape& shape) : SegmentedModel{shape.recompute} {
        std::int64_t inputs = 1;
        std::int64_t height = shape.height;
        std::int64_t width = shape.width;
        for (std::int64_t layer = 0; layer < shape.depth; ++layer) {
            const std::int64_t outputs = shape.channels << std::min<std::int64_t>(layer, 2);
            const bool pool = std::min(height, width) >= 8;
            add(std::make_shared<ConvolutionLayer>(Width{inputs, outputs}, pool));
            if (pool) {
                height /= 2;
                width /= 2;
            }
            inputs = outputs;
        }
        add(std::make_shared<DenseLayer>(Width{inputs * height * width, shape.hidden}, shape.dropout));
        end_with(hpo::libtorch::Linear{shape.hidden, shape.classes});
    }
};

/// A square convolution without bias. A norm follows it: group norm (Wu and He 2018) or batch norm.
[[nodiscard]] inline hpo::libtorch::Conv2d plain_convolution(Width channels, std::int64_t size, std::int64_t stride) {
    return hpo::libtorch::Conv2d{torch::nn::Conv2dOptions{channels.in, channels.out, size}.stride(stride).padding(size / 2).bias(false)};
}
[[nodiscard]] inline torch::nn::Sequential norm(std::int64_t channels, bool batch_norm) {
    if (batch_norm) return torch::nn::Sequential{torch::nn::BatchNorm2d{channels}};
    return torch::nn::Sequential{torch::nn::GroupNorm{std::gcd(channels, std::int64_t{8}), channels}};
}

/// Normalises in fp32, whatever type autocast gave x. On the CPU, LibTorch 1.13 needs this for group norm with fp32 weights.
[[nodiscard]] inline Tensor normalised(torch::nn::Sequential& norm, const Tensor& x) { return norm->forward(x.to(torch::kFloat)); }

/// The first convolution of a ResNet.
class Stem final : public Part {
public:
    Stem(std::int64_t channels, bool batch_norm) {
        convolution_ = register_module("convolution", plain_convolution({1, channels}, 3, 1));
        norm_ = register_module("norm", norm(channels, batch_norm));
    }
    [[nodiscard]] Tensor forward(const Tensor& x) override { return torch::relu(normalised(norm_, convolution_(x))); }

private:
    hpo::libtorch::Conv2d convolution_{nullptr};
    torch::nn::Sequential norm_{nullptr};
};

/// Two 3x3 convolutions with a shortcut (He et al. 2016).
class ResidualBlock final : public Part {
public:
    ResidualBlock(Width channels, std::int64_t stride, bool batch_norm) {
        first_ = register_module("first", plain_convolution(channels, 3, stride));
        first_norm_ = register_module("first_norm", norm(channels.out, batch_norm));
        second_ = register_module("second", plain_convolution({channels.out, channels.out}, 3, 1));
        second_norm_ = register_module("second_norm", norm(channels.out, batch_norm));
        if (stride != 1 || channels.in != channels.out) shortcut_ = register_module("shortcut", plain_convolution(channels, 1, stride));
    }
    [[nodiscard]] Tensor forward(const Tensor& x) override {
        const Tensor y = normalised(second_norm_, second_(torch::relu(normalised(first_norm_, first_(x)))));
        return torch::relu(y + (shortcut_.is_empty() ? x : shortcut_(x)));
    }

private:
    hpo::libtorch::Conv2d first_{nullptr};
    hpo::libtorch::Conv2d second_{nullptr};
    hpo::libtorch::Conv2d shortcut_{nullptr};
    torch::nn::Sequential first_norm_{nullptr};
    torch::nn::Sequential second_norm_{nullptr};
};

/// The mean of each channel, with dropout.
class ImageMean final : public Part {
public:
    explicit ImageMean(double dropout) { dropout_ = register_module("dropout", torch::nn::Dropout{dropout}); }
    [[nodiscard]] Tensor forward(const Tensor& x) override { return dropout_(x.mean({2, 3})); }

private:
    torch::nn::Dropout dropout_{nullptr};
};

/// A stem, three stages of `depth` residual blocks with c, 2c and 4c channels, the mean over the image, and one linear layer.
class ResNet final : public SegmentedModel {
public:
    explicit ResNet(const ModelShape& shape) : SegmentedModel{shape.recompute} {
        add(std::make_shared<Stem>(shape.channels, shape.batch_norm));
        std::int64_t inputs = shape.channels;
        for (std::int64_t stage = 0; stage < 3; ++stage) {
            const std::int64_t outputs = shape.channels << stage;
            for (std::int64_t i = 0; i < shape.depth; ++i) {
                const std::int64_t stride = stage > 0 && i == 0 ? 2 : 1;
                add(std::make_shared<ResidualBlock>(Width{inputs, outputs}, stride, shape.batch_norm));
                inputs = outputs;
            }
        }
        add(std::make_shared<ImageMean>(shape.dropout));
        end_with(hpo::libtorch::Linear{inputs, shape.classes});
    }
};

/// The model named "mlp", "cnn" or "resnet".
[[nodiscard]] inline std::shared_ptr<SegmentedModel> make_model(std::string_view kind, const ModelShape& shape) {
    if (kind == "mlp") return std::make_shared<Mlp>(shape);
    if (kind == "cnn") return std::make_shared<Cnn>(shape);
    return std::make_shared<ResNet>(shape);
}

}  // namespace hpo::image_classifier
