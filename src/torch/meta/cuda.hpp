// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/NativeFunctions.h>
#include <ATen/record_function.h>
#include <torch/library.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <cstdint>
#include <tuple>

#include "torch/meta/card.hpp"
#include "torch/meta/factories.hpp"

namespace hpo::libtorch {

/// While it lives, meta tensors are treated as CUDA's where CUDA takes other memory than the CPU. Dropout keeps a mask of one byte for each
/// number, and attention keeps no scores. Kernels take what they take beside their results (meta/cuda_kernels.hpp). What cuDNN keeps of an
/// LSTM is not known: the CPU's steps stand in for it, with a doubt.
class MetaCuda {
public:
    explicit MetaCuda(const Card& card = {});
    ~MetaCuda();
    MetaCuda(const MetaCuda&) = delete;
    MetaCuda& operator=(const MetaCuda&) = delete;

private:
    using Tensor = torch::Tensor;

    void add_kernels();
    /// CUDA reads 16 bits where a softmax is in fp32.
    static Tensor softmax(const Tensor& input, std::int64_t dimension, TorchOptional<at::ScalarType> type);
    static Tensor log_softmax(const Tensor& input, std::int64_t dimension, TorchOptional<at::ScalarType> type);
    static Tensor dropout(const Tensor& input, double probability, bool training);
    static std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input, at::TensorList states, at::TensorList parameters, bool biases,
                                                   std::int64_t layers, double dropout, bool training, bool bidirectional,
                                                   bool batch_first);
#if TORCH_VERSION_MAJOR >= 2
    static Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const TorchOptional<Tensor>& mask, double dropout,
                            bool causal, TorchOptional<double> scale, bool grouped);
#endif

    torch::Library operators_{torch::Library::IMPL, "aten", c10::DispatchKey::AutogradMeta, __FILE__, __LINE__};
    at::CallbackHandle nodes_ = 0;
    torch::Library kernels_{torch::Library::IMPL, "aten", c10::DispatchKey::Meta, __FILE__, __LINE__};
};

}  // namespace hpo::libtorch
