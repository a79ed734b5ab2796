// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/NativeFunctions.h>
#include <torch/library.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "hpo/torch/meta_attention.hpp"
#include "hpo/torch/meta_factories.hpp"

namespace hpo::torch {

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
    static Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const TorchOptional<Tensor>& mask, double dropout,
                            bool causal, TorchOptional<double> scale, bool grouped) {
        if (query.dim() != 4)
            return std::get<0>(at::_scaled_dot_product_attention_math(query, key, value, mask, dropout, causal, {}, scale, grouped));
        constexpr std::int64_t block = 32;  // rows that the kernels fill up
        return FusedAttention::apply(query, key, value, mask, (query.size(-2) + block - 1) / block * block);
    }
#endif

    ::torch::Library operators_{::torch::Library::IMPL, "aten", c10::DispatchKey::AutogradMeta, __FILE__, __LINE__};
};

}  // namespace hpo::torch
