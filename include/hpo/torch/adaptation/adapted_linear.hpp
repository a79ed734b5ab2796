// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include "hpo/torch/adaptation/low_rank.hpp"

namespace hpo::libtorch {

/// A linear layer that can be adapted. Use it through the holder `Linear`.
class AdaptedLinear final : public Adapted<torch::nn::LinearImpl> {
public:
    using Adapted::Adapted;

    /// Takes [..., inputs] and returns [..., outputs].
    [[nodiscard]] torch::Tensor forward(const torch::Tensor& x) {
        const auto apply = [](const torch::Tensor& input, const torch::Tensor& factor) { return torch::linear(input, factor); };
        return with_addition(LinearImpl::forward(x), x, apply, apply);
    }
};

/// LibTorch's Linear that can be adapted, with the same options and parameter names.
using Linear = torch::nn::ModuleHolder<AdaptedLinear>;

}  // namespace hpo::libtorch
