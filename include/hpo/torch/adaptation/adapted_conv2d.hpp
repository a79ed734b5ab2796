// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <string>

#include "hpo/base/error.hpp"
#include "hpo/torch/adaptation/low_rank.hpp"

namespace hpo::libtorch {

/// A convolution that can be adapted. A is a convolution of the same size, stride and padding into `rank` channels. B is one of size 1. Use
/// it through the holder `Conv2d`.
class AdaptedConv2d final : public Adapted<torch::nn::Conv2dImpl> {
public:
    using Adapted::Adapted;

    /// Throws Error for a convolution with several groups, or with a padding other than a number of zeros.
    void adapt(const LoraSettings& settings) override {
        const bool zeros = get_if<torch::enumtype::kZeros>(&options.padding_mode()) != nullptr;
        if (options.groups() != 1 || !padding() || !zeros)
            throw bad_value("lora.targets", "a convolution in groups or with special padding", "one group, padded with a number of zeros");
        Adapted::adapt(settings);
    }

    /// [examples, channels, height, width].
    [[nodiscard]] torch::Tensor forward(const torch::Tensor& x) {
        const auto through = [this](const torch::Tensor& input, const torch::Tensor& factor) {
            return torch::conv2d(input, factor, {}, *options.stride(), **padding(), *options.dilation());
        };
        const auto out = [](const torch::Tensor& input, const torch::Tensor& factor) { return torch::conv2d(input, factor); };
        return with_addition(Conv2dImpl::forward(x), x, through, out);
    }

private:
    [[nodiscard]] const torch::ExpandingArray<2>* padding() const { return get_if<torch::ExpandingArray<2>>(&options.padding()); }
};

/// LibTorch's Conv2d that can be adapted, with the same options and parameter names.
using Conv2d = torch::nn::ModuleHolder<AdaptedConv2d>;

}  // namespace hpo::libtorch
