// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <optional>

namespace hpo::libtorch {

/// Attention with the memory of LibTorch's fused kernels, which exist since 2.0. They keep queries, keys, values and outputs, but no
/// scores. For each of `rows` rows they also keep the logarithm of its sum of exponentials.
class FusedAttention : public torch::autograd::Function<FusedAttention> {
public:
    using Tensor = torch::Tensor;

    /// Whether the fused kernels accept these arguments: queries with a dimension of heads, and no bias that learns.
    [[nodiscard]] static bool takes(const Tensor& query, const std::optional<Tensor>& bias) {
        return query.dim() == 4 && !(bias && bias->defined() && bias->requires_grad());
    }

    static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& query, const Tensor& key, const Tensor& value,
                          const std::optional<Tensor>& bias, std::int64_t rows) {
        // The heads of a token lie together, so they can be joined without a copy.
        const Tensor output = torch::empty({query.size(0), query.size(2), query.size(1), value.size(3)}, query.options()).transpose(1, 2);
        const Tensor sums = torch::empty({query.size(0), query.size(1), rows}, query.options().dtype(torch::kFloat));
        context->save_for_backward({query, key, value, output, sums, bias ? *bias : sums});
        return output;
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   torch::autograd::variable_list /*gradients*/) {
        const auto saved = context->get_saved_variables();
        const Tensor row_products = torch::empty_like(saved[4]);
        return {torch::empty_like(saved[0]), torch::empty_like(saved[1]), torch::empty_like(saved[2]), Tensor{}, Tensor{}};
    }
};

}  // namespace hpo::libtorch
