// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <optional>

namespace hpo::torch {

/// Attention as LibTorch's fused kernels keep it: queries, keys, values, outputs and, for each of `rows` rows, the logarithm of its sum of
/// exponentials, but no scores. Where LibTorch has such kernels: since 2.0.
class FusedAttention : public ::torch::autograd::Function<FusedAttention> {
public:
    using Tensor = ::torch::Tensor;

    /// Whether the kernels take it: heads of their own for queries and keys, and a bias that does not learn.
    [[nodiscard]] static bool takes(const Tensor& query, const std::optional<Tensor>& bias) {
        return query.dim() == 4 && !(bias && bias->defined() && bias->requires_grad());
    }

    static Tensor forward(::torch::autograd::AutogradContext* context, const Tensor& query, const Tensor& key, const Tensor& value,
                          const std::optional<Tensor>& bias, std::int64_t rows) {
        // The heads of a token lie together, so that they can be joined again without a copy.
        const Tensor output = ::torch::empty({query.size(0), query.size(2), query.size(1), value.size(3)}, query.options()).transpose(1, 2);
        const Tensor sums = ::torch::empty({query.size(0), query.size(1), rows}, query.options().dtype(::torch::kFloat));
        context->save_for_backward({query, key, value, output, sums, bias ? *bias : sums});
        return output;
    }
    static ::torch::autograd::variable_list backward(::torch::autograd::AutogradContext* context,
                                                     ::torch::autograd::variable_list /*gradients*/) {
        const auto saved = context->get_saved_variables();
        const Tensor row_products = ::torch::empty_like(saved[4]);
        return {::torch::empty_like(saved[0]), ::torch::empty_like(saved[1]), ::torch::empty_like(saved[2]), Tensor{}, Tensor{}};
    }
};

}  // namespace hpo::torch
