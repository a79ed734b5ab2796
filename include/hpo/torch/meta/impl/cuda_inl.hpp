// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/NativeFunctions.h>
#include <torch/library.h>
#include <torch/torch.h>
#include <torch/version.h>
#include <cstdint>
#include <tuple>

#include "hpo/base/inline.hpp"
#include "hpo/torch/meta/attention.hpp"
#include "hpo/torch/meta/cuda.hpp"
#include "hpo/torch/recording/doubt.hpp"

namespace hpo::libtorch::inline meta {

HPO_INLINE MetaCuda::MetaCuda() {
    operators_.impl("dropout", &dropout);
    operators_.impl("lstm.input", &lstm);
#if TORCH_VERSION_MAJOR >= 2
    operators_.impl("scaled_dot_product_attention", &attention);
#endif
}

HPO_INLINE MetaCuda::Tensor MetaCuda::dropout(const Tensor& input, double probability, bool training) {
    if (training && probability > 0 && probability < 1 && input.numel() > 0)
        return std::get<0>(at::native_dropout(input, probability, training));
    return at::native::dropout(input, probability, training);
}

HPO_INLINE std::tuple<MetaCuda::Tensor, MetaCuda::Tensor, MetaCuda::Tensor> MetaCuda::lstm(const Tensor& input, at::TensorList states,
                                                                                           at::TensorList parameters, bool biases,
                                                                                           std::int64_t layers, double dropout,
                                                                                           bool training, bool bidirectional,
                                                                                           bool batch_first) {
    Doubt::note(0.25, "cuDNN's LSTM");
    return at::native::lstm(input, states, parameters, biases, layers, dropout, training, bidirectional, batch_first);
}

#if TORCH_VERSION_MAJOR >= 2
HPO_INLINE MetaCuda::Tensor MetaCuda::attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                                const TorchOptional<Tensor>& mask, double dropout, bool causal, TorchOptional<double> scale,
                                                bool grouped) {
    if (!FusedAttention::takes(query, mask))
        return std::get<0>(at::_scaled_dot_product_attention_math(query, key, value, mask, dropout, causal, {}, scale, grouped));
    constexpr std::int64_t block = 32;  // the kernels pad the rows to a multiple of this
    return FusedAttention::apply(query, key, value, mask, (query.size(-2) + block - 1) / block * block);
}
#endif

}  // namespace hpo::libtorch::meta
