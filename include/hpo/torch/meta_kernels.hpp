// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/ExpandUtils.h>
#include <ATen/ops/add_meta_dispatch.h>
#include <torch/torch.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "hpo/torch/doubt.hpp"
#include "hpo/torch/meta_factories.hpp"
#include "hpo/torch/onednn.hpp"
#include "hpo/torch/value_reads.hpp"

/// What LibTorch computes on the meta device from Python only, for C++: the shapes of outputs, and the tensors that the CPU's kernels
/// make on the way. Named as the operators of aten that they stand for. Where an output depends on numbers, which a meta tensor has
/// not, ValueReads says whether there is an answer: for 0 a comparison of tensors says that they are equal, and a selection takes
/// everything; for 1 they are not, and it takes nothing.
namespace hpo::torch::meta {

using at::Tensor;
using MaybeTensor = TorchOptional<Tensor>;
using Sizes = at::IntArrayRef;

/// @name Numbers and copies
/// @{
[[nodiscard]] inline at::Scalar local_scalar_dense(const Tensor& /*self*/) { return ValueReads::answer("item") ? 1 : 0; }
/// A tensor equals itself, and none of another shape.
[[nodiscard]] inline bool equal(const Tensor& self, const Tensor& other) {
    if (self.sizes() != other.sizes()) return false;
    const bool same = self.is_alias_of(other) && self.storage_offset() == other.storage_offset() && self.strides() == other.strides() &&
                      self.scalar_type() == other.scalar_type();
    return same || !ValueReads::answer("equal");
}
[[nodiscard]] inline Tensor nonzero(const Tensor& self) {
    const std::int64_t found = ValueReads::answer("nonzero") ? 0 : self.numel();
    return at::empty({found, self.dim()}, self.options().dtype(at::kLong));
}
/// Its rows are as long as the classes are many, which only without `classes` hangs on the numbers.
[[nodiscard]] inline Tensor one_hot(const Tensor& self, std::int64_t classes) {
    std::vector<std::int64_t> shape = self.sizes().vec();
    shape.push_back(classes > 0 ? classes : ValueReads::answer("one_hot") ? 2 : 1);
    return at::empty(shape, self.options());
}
/// What leaves the device is read; what arrives is forgotten.
inline Tensor& copy_(Tensor& self, const Tensor& /*source*/, bool /*non_blocking*/) {
    if (self.is_meta()) return self;
    return ValueReads::answer("a copy to another device") ? self.fill_(1) : self.zero_();
}
/// @}

/// @name Over all numbers
/// @{
[[nodiscard]] inline Tensor extreme(const Tensor& self) { return at::empty({}, self.options()); }
/// @}

/// @name Elementwise
/// @{
[[nodiscard]] inline Tensor relu(const Tensor& self) { return at::empty_like(self); }
inline Tensor& relu_(Tensor& self) { return self; }
[[nodiscard]] inline Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other) {
    const auto shape = at::infer_size(at::infer_size(condition.sizes(), self.sizes()), other.sizes());
    const Tensor& placed = self.is_meta() ? self : condition;
    return at::empty(shape, placed.options().dtype(at::result_type(self, other)));
}
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
[[nodiscard]] inline Tensor host_add(const Tensor& self, const Tensor& other, const at::Scalar& alpha) {
    const at::ScalarType type = at::result_type(self, other);
    const Tensor sum = at::meta::add(self, other, alpha);
    static_cast<void>(std::pair{converted(self, type), converted(other, type)});
    return sum;
}
inline Tensor& host_add_(Tensor& self, const Tensor& other, const at::Scalar& alpha) {
    const at::ScalarType type = at::result_type(self, other);
    const Tensor sum = converted(self, type);  // before it is cast back
    static_cast<void>(std::pair{converted(self, type), converted(other, type)});
    return at::meta::add_(self, other, alpha);
}
/// @}

/// @name Rows of a table
/// @{
[[nodiscard]] inline Tensor index_select(const Tensor& self, std::int64_t dim, const Tensor& index) {
    std::vector<std::int64_t> shape = self.sizes().vec();
    shape[static_cast<std::size_t>(dim < 0 ? dim + self.dim() : dim)] = index.numel();
    return at::empty(shape, self.options());
}
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

/// fp32 for numbers of 16 bits, whose statistics are kept so.
[[nodiscard]] inline at::TensorOptions statistics_like(const Tensor& input) {
    const bool half = input.scalar_type() == at::kHalf || input.scalar_type() == at::kBFloat16;
    return input.options().dtype(half ? at::kFloat : input.scalar_type());
}
[[nodiscard]] inline Tensor like_if(bool wanted, const MaybeTensor& tensor) {
    return wanted && tensor && tensor->defined() ? at::empty_like(*tensor) : Tensor{};
}

[[nodiscard]] inline Three native_layer_norm(const Tensor& input, Sizes normalised, const MaybeTensor& /*weight*/,
                                             const MaybeTensor& /*bias*/, double /*eps*/) {
    std::vector<std::int64_t> shape = input.sizes().vec();
    for (std::size_t i = shape.size() - normalised.size(); i < shape.size(); ++i) shape[i] = 1;
    return {at::empty_like(input, at::MemoryFormat::Contiguous), at::empty(shape, statistics_like(input)),
            at::empty(shape, statistics_like(input))};
}
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
/// Whose length a kernel moves over, with what.
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

[[nodiscard]] inline Tensor plain_convolution(const Tensor& input, const Tensor& weight, const MaybeTensor& /*bias*/, Sizes stride,
                                              Sizes padding, Sizes dilation, bool transposed, Sizes output_padding, std::int64_t groups) {
    std::vector<std::int64_t> shape{input.size(0), transposed ? weight.size(1) * groups : weight.size(0)};
    for (std::int64_t axis = 2; axis < input.dim(); ++axis) {
        const auto at = static_cast<std::size_t>(axis - 2);
        const Sweep sweep{weight.size(axis), stride[at], padding[at], dilation[at]};
        shape.push_back(transposed ? sweep.transposed_outputs(input.size(axis), output_padding[at]) : sweep.outputs(input.size(axis)));
    }
    return at::empty(shape, input.options(), input.suggest_memory_format());
}
[[nodiscard]] inline Three plain_convolution_backward(const Tensor& gradient, const Tensor& input, const Tensor& weight, Sizes /*stride*/,
                                                      Sizes /*padding*/, Sizes /*dilation*/, bool /*transposed*/, Sizes /*output_padding*/,
                                                      std::int64_t /*groups*/, std::array<bool, 3> wanted) {
    return {wanted[0] ? at::empty_like(input) : Tensor{}, wanted[1] ? at::empty_like(weight) : Tensor{},
            wanted[2] ? at::empty({gradient.size(1)}, weight.options()) : Tensor{}};
}

/// oneDNN keeps channels in blocks of 16 and fills up what is left over, except for the few channels of an image: small nets then take up
/// to twice of what their tensors have. Throws where that happens, so that a probe is asked.
inline void require_whole_blocks(const Tensor& input, const Tensor& weight, bool transposed) {
    constexpr std::int64_t block = 16;
    constexpr std::int64_t image_channels = 3;
    const std::int64_t outputs = transposed ? weight.size(1) : weight.size(0);
    if (outputs % block == 0 && (input.size(1) % block == 0 || input.size(1) <= image_channels)) return;
    throw std::runtime_error{"a convolution from " + std::to_string(input.size(1)) + " to " + std::to_string(outputs) +
                             " channels, which oneDNN fills up to blocks of 16: only a probe tells its memory"};
}
/// Throws where oneDNN does not convolve this type on this processor, so that a probe is asked: LibTorch's own convolution unfolds its
/// input, and took up to a third more than oneDNN's.
inline void require_onednn(const Tensor& input) {
    if (onednn_has(input.scalar_type())) return;
    throw std::runtime_error{"a convolution of " + std::string{c10::toString(input.scalar_type())} +
                             ", which this processor's oneDNN has not: only a probe tells its memory"};
}
/// What oneDNN, which convolves on the CPU, makes on the way: its own arrangement of weights and outputs, and of their gradients.
/// Channels that it fills up to whole blocks, and the scratch of its algorithms, are left out: up to 0.7 % of a ResNet's peak.
[[nodiscard]] inline Tensor onednn_convolution(const Tensor& input, const Tensor& weight, const MaybeTensor& bias, Sizes stride,
                                               Sizes padding, Sizes dilation, bool transposed, Sizes output_padding, std::int64_t groups) {
    require_onednn(input);
    require_whole_blocks(input, weight, transposed);
    Doubt::note(0.01, "a convolution");
    const auto output = [&] {
        return plain_convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
    };
    Tensor arranged_weight = at::empty_like(weight);
    const Tensor arranged_output = output();
    arranged_weight.reset();
    return output();
}
[[nodiscard]] inline Three onednn_convolution_backward(const Tensor& gradient, const Tensor& input, const Tensor& weight, Sizes stride,
                                                       Sizes padding, Sizes dilation, bool transposed, Sizes output_padding,
                                                       std::int64_t groups, std::array<bool, 3> wanted) {
    const auto gradients = [&](std::array<bool, 3> some) {
        return plain_convolution_backward(gradient, input, weight, stride, padding, dilation, transposed, output_padding, groups, some);
    };
    Tensor of_input;
    if (wanted[0]) {
        Tensor arranged_gradient = at::empty_like(gradient);
        Tensor arranged_weight = at::empty_like(weight);
        const Tensor arranged = at::empty_like(input);
        arranged_weight.reset();
        arranged_gradient.reset();
        of_input = std::get<0>(gradients({true, false, false}));
    }
    if (!wanted[1] && !wanted[2]) return {of_input, Tensor{}, Tensor{}};
    Tensor arranged_input = at::empty_like(input);
    Tensor arranged_gradient = at::empty_like(gradient);
    const Tensor arranged = at::empty_like(weight);
    arranged_input.reset();
    arranged_gradient.reset();
    auto rest = gradients({false, wanted[1], wanted[2]});
    std::get<0>(rest) = of_input;
    return rest;
}
[[nodiscard]] inline Tensor adaptive_avg_pool2d(const Tensor& self, Sizes outputs) {
    std::vector<std::int64_t> shape(self.sizes().begin(), self.sizes().end() - 2);
    shape.insert(shape.end(), outputs.begin(), outputs.end());
    return at::empty(shape, self.options());
}
[[nodiscard]] inline Tensor adaptive_avg_pool2d_backward(const Tensor& /*gradient*/, const Tensor& self) { return at::empty_like(self); }
/// @}

}  // namespace hpo::torch::meta
