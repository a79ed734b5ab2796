// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <tuple>

#include "torch/meta/card.hpp"
#include "torch/meta/factories.hpp"

/// Reductions on the meta device if it stands in for CUDA. They take what CUDA's kernels stage (allocator/reduction_staging.hpp). They have
/// the names of aten's operators.
namespace hpo::libtorch::kernels_of_cuda {

using at::Tensor;
using Type = TorchOptional<at::ScalarType>;
using Places = at::OptionalIntArrayRef;
using Sizes = at::IntArrayRef;

/// The card whose memory is told. One in a process, set by MetaCuda.
[[nodiscard]] Card& card();

/// Memory of a kernel's own, on the device of a tensor.
[[nodiscard]] inline Tensor scratch(const Tensor& beside, std::int64_t bytes) {
    return at::empty({bytes}, beside.options().dtype(at::kByte));
}

/// Takes and gives back what a reduction over `dimensions`, or over all if there are none, stages. A partial result has so many bytes.
void stage(const Tensor& input, Sizes dimensions, std::int64_t partial_bytes);
[[nodiscard]] Tensor sum(const Tensor& self, Places dimensions, bool keep, Type type);
[[nodiscard]] Tensor mean(const Tensor& self, Places dimensions, bool keep, Type type);
[[nodiscard]] Tensor vector_norm(const Tensor& self, const at::Scalar& order, Places dimensions, bool keep, Type type);
[[nodiscard]] Tensor norm(const Tensor& self, const TorchOptional<at::Scalar>& order, Sizes dimensions, bool keep);
[[nodiscard]] Tensor norm_in_type(const Tensor& self, const TorchOptional<at::Scalar>& order, Sizes dimensions, bool keep,
                                  at::ScalarType type);
[[nodiscard]] Tensor amax(const Tensor& self, Sizes dimensions, bool keep);
[[nodiscard]] Tensor amin(const Tensor& self, Sizes dimensions, bool keep);
[[nodiscard]] Tensor argmax(const Tensor& self, TorchOptional<std::int64_t> dimension, bool keep);
[[nodiscard]] Tensor argmin(const Tensor& self, TorchOptional<std::int64_t> dimension, bool keep);
[[nodiscard]] std::tuple<Tensor, Tensor> max_of_dimension(const Tensor& self, std::int64_t dimension, bool keep);
[[nodiscard]] std::tuple<Tensor, Tensor> min_of_dimension(const Tensor& self, std::int64_t dimension, bool keep);
[[nodiscard]] Tensor extreme(const Tensor& self);
[[nodiscard]] Tensor any(const Tensor& self);
[[nodiscard]] Tensor all(const Tensor& self);
[[nodiscard]] Tensor mse_loss(const Tensor& self, const Tensor& target, std::int64_t reduction);
[[nodiscard]] Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, std::int64_t reduction, double beta);

}  // namespace hpo::libtorch::kernels_of_cuda
