// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/NativeFunctions.h>
#include <torch/library.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "hpo/torch/meta_factories.hpp"

namespace hpo::torch {

#if TORCH_VERSION_MAJOR >= 2
/// Attention as LibTorch's fused kernels for CUDA keep it: queries, keys, values, outputs and the logarithm of each row's sum of
/// exponentials, but no scores. Used through MetaCuda.
class FusedAttention : public ::torch::autograd::Function<FusedAttention> {
public:
    using Tensor = ::torch::Tensor;

    static Tensor forward(::torch::autograd::AutogradContext* context, const Tensor& query, const Tensor& key, const Tensor& value,
                          const Tensor& bias) {
        std::vector<std::int64_t> sizes = query.sizes().vec();
        sizes.back() = value.size(-1);
        const Tensor output = ::torch::empty(sizes, query.options());
        const std::int64_t rows = (query.size(-2) + 31) / 32 * 32;  // the kernels fill them up to blocks
        const Tensor sums = ::torch::empty({query.size(0), query.size(1), rows}, query.options().dtype(::torch::kFloat));
        context->save_for_backward({query, key, value, output, sums, bias});
        return output;
    }
    static ::torch::autograd::variable_list backward(::torch::autograd::AutogradContext* context,
                                                     ::torch::autograd::variable_list /*gradients*/) {
        const auto saved = context->get_saved_variables();
        const Tensor row_products = ::torch::empty_like(saved[4]);
        return {::torch::empty_like(saved[0]), ::torch::empty_like(saved[1]), ::torch::empty_like(saved[2]), Tensor{}};
    }
};
#endif

/// While it lives, meta tensors are treated as CUDA's where that takes other memory than the CPU: dropout keeps a mask of one byte for a
/// number, and attention keeps no scores.
class MetaCuda {
public:
    MetaCuda() {
        operators_.impl("dropout", &dropout);
#if TORCH_VERSION_MAJOR >= 2
        operators_.impl("scaled_dot_product_attention", &attention);
#endif
    }
    MetaCuda(const MetaCuda&) = delete;
    MetaCuda& operator=(const MetaCuda&) = delete;

private:
    using Tensor = ::torch::Tensor;

    static Tensor dropout(const Tensor& input, double probability, bool training) {
        if (training && probability > 0 && probability < 1 && input.numel() > 0)
            return std::get<0>(at::native_dropout(input, probability, training));
        return at::native::dropout(input, probability, training);
    }
#if TORCH_VERSION_MAJOR >= 2
    static Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const TorchOptional<Tensor>& mask,
                            double /*dropout*/, bool /*causal*/, TorchOptional<double> /*scale*/, bool /*grouped*/) {
        return FusedAttention::apply(query, key, value, mask.value_or(Tensor{}));
    }
#endif

    ::torch::Library operators_{::torch::Library::IMPL, "aten", c10::DispatchKey::AutogradMeta, __FILE__, __LINE__};
};

}  // namespace hpo::torch
