// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <array>
#include <cstdint>
#include <tuple>

#include "torch/meta/factories.hpp"

/// Kernels for the meta device if it stands in for CUDA, where CUDA's kernels take more than their results, or where a backward pass takes
/// more on the meta device than on others. They have the names of aten's operators. Which blocks they take, and in which order, was read
/// off LibTorch 2.11 on a virtual card of compute capability 8.0.
namespace hpo::libtorch::kernels_of_cuda {

using at::Tensor;
using Sizes = at::IntArrayRef;

/// How many nodes of a graph of autograd this thread is in. MetaCuda counts them.
[[nodiscard]] int& nodes();

/// @name Products: a thread's first takes cuBLAS's workspace, and its first with a bias cuBLASLt's
/// @{
[[nodiscard]] Tensor mm(const Tensor& self, const Tensor& other);
[[nodiscard]] Tensor bmm(const Tensor& self, const Tensor& other);
[[nodiscard]] Tensor baddbmm(const Tensor& self, const Tensor& left, const Tensor& right, const at::Scalar& beta, const at::Scalar& alpha);
[[nodiscard]] Tensor addmm(const Tensor& self, const Tensor& left, const Tensor& right, const at::Scalar& beta, const at::Scalar& alpha);
/// @}

/// @name Backward passes
/// @{
[[nodiscard]] Tensor softmax_backward(const Tensor& gradient, const Tensor& output, std::int64_t dimension, at::ScalarType type);
[[nodiscard]] Tensor mish_backward(const Tensor& gradient, const Tensor& self);
[[nodiscard]] Tensor embedding_dense_backward(const Tensor& gradient, const Tensor& indices, std::int64_t rows, std::int64_t padding,
                                              bool scale);
/// The next three write into a new tensor of zeros. LibTorch takes a second one for the meta device, for which it writes nothing in place.
/// They consist of other operators, and have their derivatives from these, as LibTorch's own have. So they take the place of LibTorch's
/// before autograd: with a kernel for the meta device alone, an operator without a derivative of its own would have none.
[[nodiscard]] Tensor value_selecting_reduction_backward(const Tensor& gradient, std::int64_t dimension, const Tensor& indices, Sizes sizes,
                                                        bool keep);
[[nodiscard]] Tensor index_select_backward(const Tensor& gradient, Sizes sizes, std::int64_t dimension, const Tensor& index);
[[nodiscard]] Tensor gather_backward(const Tensor& gradient, const Tensor& self, std::int64_t dimension, const Tensor& index, bool sparse);
[[nodiscard]] Tensor index_put(const Tensor& self, const c10::List<TorchOptional<Tensor>>& indices, const Tensor& values, bool accumulate);
/// Adds in place where autograd adds up two gradients of a tensor, as on every device but meta.
[[nodiscard]] Tensor add(const Tensor& self, const Tensor& other, const at::Scalar& alpha);
/// @}

[[nodiscard]] std::tuple<Tensor, Tensor> log_sigmoid_forward(const Tensor& self);

/// @name Norms of groups
/// @{
[[nodiscard]] std::tuple<Tensor, Tensor, Tensor> native_group_norm(const Tensor& input, const TorchOptional<Tensor>& weight,
                                                                   const TorchOptional<Tensor>& bias, std::int64_t examples,
                                                                   std::int64_t channels, std::int64_t extent, std::int64_t groups,
                                                                   double eps);
[[nodiscard]] std::tuple<Tensor, Tensor, Tensor> native_group_norm_backward(const Tensor& gradient, const Tensor& input, const Tensor& mean,
                                                                            const Tensor& deviation, const TorchOptional<Tensor>& weight,
                                                                            std::int64_t examples, std::int64_t channels,
                                                                            std::int64_t extent, std::int64_t groups,
                                                                            std::array<bool, 3> wanted);
/// @}

/// @name Dropout
/// @{
[[nodiscard]] std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double probability, TorchOptional<bool> training);
[[nodiscard]] Tensor native_dropout_backward(const Tensor& gradient, const Tensor& mask, double scale);
/// @}

}  // namespace hpo::libtorch::kernels_of_cuda
