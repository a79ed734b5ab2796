// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/ExpandUtils.h>
#include <ATen/ops/add_meta_dispatch.h>
#include <torch/torch.h>

#include <array>
#include <cstdint>
#include <tuple>

#include "torch/meta/factories.hpp"

/// Kernels for the meta device that LibTorch has in Python only: the shapes of outputs, and the temporary tensors of the CPU's kernels.
/// They have the names of aten's operators.
///
/// A meta tensor has no numbers. If an output depends on numbers, ValueReads says whether there is an answer. With answer 0, a comparison
/// says that tensors are equal, and a selection takes everything. With answer 1, tensors differ, and a selection is empty.
namespace hpo::libtorch::kernels_of_meta {

using at::Tensor;
using MaybeTensor = TorchOptional<Tensor>;
using Sizes = at::IntArrayRef;

/// @name Numbers and copies
/// @{
[[nodiscard]] at::Scalar local_scalar_dense(const Tensor& /*self*/);
/// A tensor equals itself, and no tensor of another shape.
[[nodiscard]] bool equal(const Tensor& self, const Tensor& other);
[[nodiscard]] Tensor nonzero(const Tensor& self);
/// A row has one number for each class. Without `classes`, its length depends on the numbers.
[[nodiscard]] Tensor one_hot(const Tensor& self, std::int64_t classes);
/// A copy from the device counts as a read. A copy to the device loses its numbers.
Tensor& copy_(Tensor& self, const Tensor& /*source*/, bool /*non_blocking*/);
/// @}

/// @name Over all numbers
/// @{
[[nodiscard]] inline Tensor extreme(const Tensor& self) { return at::empty({}, self.options()); }
/// @}

/// @name Elementwise
/// @{
[[nodiscard]] inline Tensor relu(const Tensor& self) { return at::empty_like(self); }
inline Tensor& relu_(Tensor& self) { return self; }
[[nodiscard]] Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other);
inline Tensor& where_out(const Tensor& condition, const Tensor& self, const Tensor& other, Tensor& out) {
    out.resize_(at::infer_size(at::infer_size(condition.sizes(), self.sizes()), other.sizes()));
    return out;
}
[[nodiscard]] inline std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double /*p*/, TorchOptional<bool> /*train*/) {
    return {at::empty_like(input), at::empty_like(input, input.options().dtype(at::kBool))};
}
[[nodiscard]] inline Tensor native_dropout_backward(const Tensor& gradient, const Tensor& /*mask*/, double /*scale*/) {
    return at::empty_like(gradient);
}
[[nodiscard]] inline std::tuple<Tensor, Tensor> log_sigmoid_forward(const Tensor& self) {
    return {at::empty_like(self), at::empty_like(self)};
}
/// @}

/// @name Sums of unlike types on the CPU, which first copies what is of another type than the sum
/// @{
[[nodiscard]] inline Tensor converted(const Tensor& operand, at::ScalarType type) {
    const bool copied = operand.scalar_type() != type && operand.dim() > 0;
    return copied ? at::empty(operand.sizes(), operand.options().dtype(type)) : Tensor{};
}
[[nodiscard]] Tensor host_add(const Tensor& self, const Tensor& other, const at::Scalar& alpha);
Tensor& host_add_(Tensor& self, const Tensor& other, const at::Scalar& alpha);
/// @}

/// @name Rows of a table
/// @{
[[nodiscard]] Tensor index_select(const Tensor& self, std::int64_t dim, const Tensor& index);
[[nodiscard]] inline Tensor embedding_dense_backward(const Tensor& gradient, const Tensor& /*indices*/, std::int64_t rows,
                                                     std::int64_t /*padding*/, bool /*scale*/) {
    return at::empty({rows, gradient.size(-1)}, gradient.options());
}
/// @}

/// @name Losses
/// @{
[[nodiscard]] inline Tensor mse_loss_backward(const Tensor& /*gradient*/, const Tensor& self, const Tensor& /*target*/, std::int64_t) {
    return at::empty_like(self);
}
[[nodiscard]] inline Tensor smooth_l1_loss_backward(const Tensor& /*gradient*/, const Tensor& self, const Tensor& /*target*/, std::int64_t,
                                                    double /*beta*/) {
    return at::empty_like(self);
}
[[nodiscard]] inline Tensor binary_cross_entropy(const Tensor& self, const Tensor& /*target*/, const MaybeTensor& /*weight*/,
                                                 std::int64_t reduction) {
    const Tensor losses = at::empty_like(self);
    return reduction == at::Reduction::None ? losses : at::empty({}, self.options());
}
[[nodiscard]] inline Tensor binary_cross_entropy_backward(const Tensor& /*gradient*/, const Tensor& self, const Tensor& /*target*/,
                                                          const MaybeTensor& /*weight*/, std::int64_t) {
    return at::empty_like(self);
}
/// @}

/// @name Norms
/// @{
using Three = std::tuple<Tensor, Tensor, Tensor>;

/// fp32 for 16-bit inputs, because their statistics are kept in fp32.
[[nodiscard]] inline at::TensorOptions statistics_like(const Tensor& input) {
    const bool half = input.scalar_type() == at::kHalf || input.scalar_type() == at::kBFloat16;
    return input.options().dtype(half ? at::kFloat : input.scalar_type());
}
[[nodiscard]] inline Tensor like_if(bool wanted, const MaybeTensor& tensor) {
    return wanted && tensor && tensor->defined() ? at::empty_like(*tensor) : Tensor{};
}

[[nodiscard]] Three native_layer_norm(const Tensor& input, Sizes normalised, const MaybeTensor& /*weight*/, const MaybeTensor& /*bias*/,
                                      double /*eps*/);
[[nodiscard]] inline Three native_layer_norm_backward(const Tensor& /*gradient*/, const Tensor& input, Sizes /*normalised*/,
                                                      const Tensor& /*mean*/, const Tensor& /*rstd*/, const MaybeTensor& weight,
                                                      const MaybeTensor& bias, std::array<bool, 3> wanted) {
    return {wanted[0] ? at::empty_like(input, at::MemoryFormat::Contiguous) : Tensor{}, like_if(wanted[1], weight),
            like_if(wanted[2], bias)};
}
[[nodiscard]] inline Three native_batch_norm(const Tensor& input, const MaybeTensor& /*weight*/, const MaybeTensor& /*bias*/,
                                             const MaybeTensor& /*mean*/, const MaybeTensor& /*variance*/, bool training,
                                             double /*momentum*/, double /*eps*/) {
    const std::int64_t kept = training ? input.size(1) : 0;
    return {at::empty_like(input), at::empty({kept}, statistics_like(input)), at::empty({kept}, statistics_like(input))};
}
[[nodiscard]] inline Three native_batch_norm_backward(const Tensor& /*gradient*/, const Tensor& input, const MaybeTensor& /*weight*/,
                                                      const MaybeTensor& /*running_mean*/, const MaybeTensor& /*running_variance*/,
                                                      const MaybeTensor& /*mean*/, const MaybeTensor& /*rstd*/, bool /*training*/,
                                                      double /*eps*/, std::array<bool, 3> wanted) {
    const auto channels = [&](bool one) { return one ? at::empty({input.size(1)}, statistics_like(input)) : Tensor{}; };
    return {wanted[0] ? at::empty_like(input) : Tensor{}, channels(wanted[1]), channels(wanted[2])};
}
[[nodiscard]] inline Three native_group_norm(const Tensor& input, const MaybeTensor& /*weight*/, const MaybeTensor& /*bias*/,
                                             std::int64_t examples, std::int64_t /*channels*/, std::int64_t /*extent*/, std::int64_t groups,
                                             double /*eps*/) {
    return {at::empty_like(input), at::empty({examples, groups}, input.options()), at::empty({examples, groups}, input.options())};
}
[[nodiscard]] inline Three native_group_norm_backward(const Tensor& /*gradient*/, const Tensor& input, const Tensor& /*mean*/,
                                                      const Tensor& /*rstd*/, const MaybeTensor& weight, std::int64_t /*examples*/,
                                                      std::int64_t channels, std::int64_t /*extent*/, std::int64_t /*groups*/,
                                                      std::array<bool, 3> wanted) {
    return {wanted[0] ? at::empty_like(input) : Tensor{}, like_if(wanted[1], weight),
            wanted[2] ? at::empty({channels}, input.options()) : Tensor{}};
}
/// @}

/// @name Convolutions and pooling
/// @{
/// How a kernel moves along one dimension.
struct Sweep {
    std::int64_t kernel;
    std::int64_t stride;
    std::int64_t padding;
    std::int64_t dilation;

    [[nodiscard]] std::int64_t reach() const { return dilation * (kernel - 1) + 1; }
    [[nodiscard]] std::int64_t outputs(std::int64_t inputs) const { return (inputs + 2 * padding - reach()) / stride + 1; }
    [[nodiscard]] std::int64_t transposed_outputs(std::int64_t inputs, std::int64_t extra) const {
        return (inputs - 1) * stride - 2 * padding + reach() + extra;
    }
};

[[nodiscard]] Tensor plain_convolution(const Tensor& input, const Tensor& weight, const MaybeTensor& /*bias*/, Sizes stride, Sizes padding,
                                       Sizes dilation, bool transposed, Sizes output_padding, std::int64_t groups);
[[nodiscard]] inline Three plain_convolution_backward(const Tensor& gradient, const Tensor& input, const Tensor& weight, Sizes /*stride*/,
                                                      Sizes /*padding*/, Sizes /*dilation*/, bool /*transposed*/, Sizes /*output_padding*/,
                                                      std::int64_t /*groups*/, std::array<bool, 3> wanted) {
    return {wanted[0] ? at::empty_like(input) : Tensor{}, wanted[1] ? at::empty_like(weight) : Tensor{},
            wanted[2] ? at::empty({gradient.size(1)}, weight.options()) : Tensor{}};
}

/// oneDNN keeps channels in blocks of 16 and pads the last block, except for the few channels of an image. Small nets then take up to twice
/// the memory of their tensors. Throws in that case, so that a probe is used.
void require_whole_blocks(const Tensor& input, const Tensor& weight, bool transposed);
/// Throws if oneDNN does not convolve this type on this processor, so that a probe is used. LibTorch's own convolution unfolds its input.
/// It took up to a third more memory than oneDNN's.
void require_onednn(const Tensor& input);
/// A convolution with oneDNN's temporaries on the CPU: its own layout of weights and outputs, and of their gradients. Padded channels and
/// the scratch of its algorithms are left out. They were up to 0.7 % of a ResNet's peak.
[[nodiscard]] Tensor onednn_convolution(const Tensor& input, const Tensor& weight, const MaybeTensor& bias, Sizes stride, Sizes padding,
                                        Sizes dilation, bool transposed, Sizes output_padding, std::int64_t groups);
[[nodiscard]] Three onednn_convolution_backward(const Tensor& gradient, const Tensor& input, const Tensor& weight, Sizes stride,
                                                Sizes padding, Sizes dilation, bool transposed, Sizes output_padding, std::int64_t groups,
                                                std::array<bool, 3> wanted);
[[nodiscard]] Tensor adaptive_avg_pool2d(const Tensor& self, Sizes outputs);
[[nodiscard]] inline Tensor adaptive_avg_pool2d_backward(const Tensor& /*gradient*/, const Tensor& self) { return at::empty_like(self); }
/// @}

}  // namespace hpo::libtorch::kernels_of_meta
