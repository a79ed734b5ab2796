// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <optional>

namespace hpo::libtorch {

/// Attention with the memory of LibTorch's two fused kernels for CUDA, which exist since 2.0. Without a mask and in 16 bits, flash
/// attention computes it, else the memory-efficient kernel. Both keep queries, keys, values and outputs, but no scores. For each row they
/// also keep the logarithm of its sum of exponentials.
///
/// What they take on the way was read off LibTorch 2.11 on a virtual card of compute capability 8.0.
class CudaAttention : public torch::autograd::Function<CudaAttention> {
public:
    using Tensor = torch::Tensor;

    /// Whether the fused kernels accept these arguments: queries with a dimension of heads, rows of heads that can be loaded at once, and
    /// no bias that learns.
    [[nodiscard]] static bool takes(const Tensor& query, const std::optional<Tensor>& mask);
    [[nodiscard]] static Tensor of(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& mask,
                                   double dropout);

    static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& query, const Tensor& key, const Tensor& value,
                          const std::optional<Tensor>& bias, bool flash, bool drops, bool keeps);
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, torch::autograd::variable_list gradients);

private:
    static torch::autograd::variable_list flash_backward(const torch::autograd::variable_list& saved, const Tensor& gradient);
    static torch::autograd::variable_list efficient_backward(const torch::autograd::variable_list& saved, const Tensor& gradient);
    /// Bytes in which threads add up the gradients of queries, for each head of each example.
    [[nodiscard]] static std::int64_t efficient_workspace(const Tensor& query, const Tensor& key);
};

}  // namespace hpo::libtorch
