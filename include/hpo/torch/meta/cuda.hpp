// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/NativeFunctions.h>
#include <torch/library.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <cstdint>
#include <tuple>

#include "hpo/torch/meta/factories.hpp"

namespace hpo::libtorch::inline meta {

/// While it lives, meta tensors are treated as CUDA's where CUDA takes other memory than the CPU. Dropout keeps a mask of one byte for each
/// number, and attention keeps no scores. What cuDNN keeps of an LSTM is not known: the CPU's steps stand in for it, with a doubt.
class MetaCuda {
public:
    MetaCuda();
    MetaCuda(const MetaCuda&) = delete;
    MetaCuda& operator=(const MetaCuda&) = delete;

private:
    using Tensor = torch::Tensor;

    static Tensor dropout(const Tensor& input, double probability, bool training);
    static std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input, at::TensorList states, at::TensorList parameters, bool biases,
                                                   std::int64_t layers, double dropout, bool training, bool bidirectional,
                                                   bool batch_first);
#if TORCH_VERSION_MAJOR >= 2
    static Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const TorchOptional<Tensor>& mask, double dropout,
                            bool causal, TorchOptional<double> scale, bool grouped);
#endif

    torch::Library operators_{torch::Library::IMPL, "aten", c10::DispatchKey::AutogradMeta, __FILE__, __LINE__};
};

}  // namespace hpo::libtorch::meta

#ifndef HPO_COMPILED
#include "hpo/torch/meta/impl/cuda_inl.hpp"
#endif
