// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <functional>
#include <string>
#include <vector>

/// Operators whose allocations are compared: what a dry run says of them, and what LibTorch's CUDA code takes.
namespace gpu {

/// Makes an operator's inputs on a device. What comes from another layer has Autocast's type.
struct Inputs {
    torch::Device device;
    torch::ScalarType type;

    using Sizes = std::vector<std::int64_t>;
    /// From another layer, with a gradient.
    [[nodiscard]] torch::Tensor x(const Sizes& sizes = {64, 128, 256}) const { return constant(sizes).requires_grad_(); }
    /// From another layer, without a gradient.
    [[nodiscard]] torch::Tensor constant(const Sizes& sizes = {64, 128, 256}) const {
        return torch::empty(sizes, torch::TensorOptions{device}.dtype(type));
    }
    /// A parameter.
    [[nodiscard]] torch::Tensor w(const Sizes& sizes) const { return fp32(sizes).requires_grad_(); }
    [[nodiscard]] torch::Tensor fp32(const Sizes& sizes) const { return torch::empty(sizes, torch::TensorOptions{device}); }
    /// Indices.
    [[nodiscard]] torch::Tensor ids(const Sizes& sizes) const {
        return torch::zeros(sizes, torch::TensorOptions{device}.dtype(torch::kLong));
    }
    [[nodiscard]] torch::Tensor mask(const Sizes& sizes = {64, 128, 256}) const {
        return torch::zeros(sizes, torch::TensorOptions{device}.dtype(torch::kBool));
    }
};

struct Operator {
    std::string name;
    std::function<torch::Tensor(const Inputs&)> run;  ///< a result with a gradient is differentiated
};

[[nodiscard]] std::vector<Operator> elementwise_operators();
[[nodiscard]] std::vector<Operator> reductions();
[[nodiscard]] std::vector<Operator> products();
[[nodiscard]] std::vector<Operator> layers();
[[nodiscard]] std::vector<Operator> losses();
[[nodiscard]] std::vector<Operator> selections();
[[nodiscard]] std::vector<Operator> optimizers();

}  // namespace gpu
