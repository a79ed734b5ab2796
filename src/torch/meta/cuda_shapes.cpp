// SPDX-License-Identifier: MIT
#include "torch/meta/cuda_shapes.hpp"

#include <ATen/ExpandUtils.h>
#include <torch/library.h>
#include <torch/torch.h>
#include <torch/version.h>
#include <cstdint>
#include <tuple>
#include <vector>

#include "torch/meta/cuda_reductions.hpp"
#include "torch/meta/missing_kernels.hpp"

namespace hpo::libtorch::shapes_of_cuda {

using at::Tensor;
using Sizes = at::IntArrayRef;

namespace own {

[[nodiscard]] inline Tensor like(const Tensor& self) { return at::empty_like(self); }
inline Tensor& itself(Tensor& self) { return self; }
[[nodiscard]] inline Tensor truth_of_two(const Tensor& self, const Tensor& other) {
    return at::empty(at::infer_size(self.sizes(), other.sizes()), self.options().dtype(at::kBool));
}
/// In place, where LibTorch calls it.
inline Tensor& truth_into(const Tensor& self, const Tensor& other, Tensor& out) {
    out.resize_(at::infer_size(self.sizes(), other.sizes()));
    return out;
}
[[nodiscard]] inline Tensor truth(const Tensor& self) { return at::empty(self.sizes(), self.options().dtype(at::kBool)); }
[[nodiscard]] inline Tensor gradient_like(const Tensor& /*gradient*/, const Tensor& self) { return at::empty_like(self); }

/// The sizes without some dimensions, without all if there are none.
[[nodiscard]] inline std::vector<std::int64_t> without(const Tensor& self, at::OptionalIntArrayRef dimensions, bool keep) {
    if (self.dim() == 0) return {};
    std::vector<bool> gone(static_cast<std::size_t>(self.dim()), !dimensions || dimensions->empty());
    if (dimensions) {
        for (const std::int64_t each : *dimensions) gone[static_cast<std::size_t>(each < 0 ? each + self.dim() : each)] = true;
    }
    std::vector<std::int64_t> sizes;
    for (std::int64_t i = 0; i < self.dim(); ++i) {
        if (!gone[static_cast<std::size_t>(i)]) sizes.push_back(self.size(i));
        else if (keep) sizes.push_back(1);
    }
    return sizes;
}
#if TORCH_VERSION_MAJOR >= 2
using Correction = const TorchOptional<at::Scalar>&;
#else
using Correction = TorchOptional<std::int64_t>;
#endif
constexpr std::int64_t welford_bytes = 16;  ///< of a mean, a sum of squares and two counts

[[nodiscard]] inline Tensor spread(const Tensor& self, at::OptionalIntArrayRef dimensions, Correction /*correction*/, bool keep) {
    Tensor result = at::empty(without(self, dimensions, keep), self.options());
    kernels_of_cuda::stage(self, dimensions ? *dimensions : Sizes{}, welford_bytes);
    return result;
}
[[nodiscard]] inline std::tuple<Tensor, Tensor> spread_and_mean(const Tensor& self, at::OptionalIntArrayRef dimensions,
                                                                Correction /*correction*/, bool keep) {
    Tensor mean = at::empty(without(self, dimensions, keep), self.options());
    Tensor result = at::empty_like(mean);
    kernels_of_cuda::stage(self, dimensions ? *dimensions : Sizes{}, welford_bytes);
    return {result, mean};
}
[[nodiscard]] inline Tensor flip(const Tensor& self, Sizes /*dimensions*/) { return at::empty_like(self, at::MemoryFormat::Preserve); }
[[nodiscard]] inline Tensor roll(const Tensor& self, Sizes /*shifts*/, Sizes /*dimensions*/) {
    return at::empty_like(self, at::MemoryFormat::Contiguous);
}
[[nodiscard]] inline Tensor replaced(const Tensor& self, TorchOptional<double> /*nan*/, TorchOptional<double> /*high*/,
                                     TorchOptional<double> /*low*/) {
    return like(self);
}
[[nodiscard]] inline Tensor bounded(const Tensor& self, const at::Scalar& /*low*/, const at::Scalar& /*high*/) { return like(self); }
[[nodiscard]] inline Tensor bounded_backward(const Tensor& gradient, const Tensor& /*self*/, const at::Scalar& /*low*/,
                                             const at::Scalar& /*high*/) {
    return like(gradient);
}
[[nodiscard]] inline Tensor glu_backward(const Tensor& /*gradient*/, const Tensor& self, std::int64_t /*dimension*/) { return like(self); }
[[nodiscard]] inline Tensor log_sigmoid_backward(const Tensor& gradient, const Tensor& /*self*/, const Tensor& /*buffer*/) {
    return like(gradient);
}
[[nodiscard]] inline std::tuple<Tensor, Tensor> nll_loss2d(const Tensor& self, const Tensor& target,
                                                           const TorchOptional<Tensor>& /*weight*/, std::int64_t reduction,
                                                           std::int64_t /*left_out*/) {
    Tensor total = at::empty({}, self.options());
    return {reduction == at::Reduction::None ? at::empty(target.sizes(), self.options()) : at::empty({}, self.options()), total};
}
[[nodiscard]] inline Tensor nll_loss2d_backward(const Tensor& /*gradient*/, const Tensor& self, const Tensor& /*target*/,
                                                const TorchOptional<Tensor>& /*weight*/, std::int64_t /*reduction*/,
                                                std::int64_t /*left_out*/, const Tensor& /*total*/) {
    return like(self);
}
[[nodiscard]] inline Tensor unfold_backward(const Tensor& gradient, Sizes sizes, std::int64_t /*dimension*/, std::int64_t /*size*/,
                                            std::int64_t /*step*/) {
    return at::empty(sizes, gradient.options());
}
[[nodiscard]] inline Tensor bucketize(const Tensor& self, const Tensor& /*borders*/, bool narrow, bool /*right*/) {
    return at::empty(self.sizes(), self.options().dtype(narrow ? at::kInt : at::kLong));
}
[[nodiscard]] inline Tensor prelu_kernel(const Tensor& self, const Tensor& /*weight*/) { return like(self); }
[[nodiscard]] inline std::tuple<Tensor, Tensor> prelu_kernel_backward(const Tensor& /*gradient*/, const Tensor& self,
                                                                      const Tensor& /*weight*/) {
    Tensor of_self = like(self);
    return {of_self, at::empty_like(self)};
}
[[nodiscard]] inline std::tuple<Tensor, Tensor> weight_norm(const Tensor& direction, const Tensor& length, std::int64_t /*dimension*/) {
    Tensor weight = at::empty_like(direction, at::MemoryFormat::Contiguous);
    return {weight, at::empty_like(length, at::MemoryFormat::Contiguous)};
}
[[nodiscard]] inline std::tuple<Tensor, Tensor> weight_norm_backward(const Tensor& /*gradient*/, const Tensor& direction,
                                                                     const Tensor& length, const Tensor& /*norms*/,
                                                                     std::int64_t /*dimension*/) {
    Tensor of_direction = at::empty_like(direction, at::MemoryFormat::Contiguous);
    return {of_direction, at::empty_like(length, at::MemoryFormat::Contiguous)};
}

}  // namespace own

void add_to(torch::Library& kernels) {
    const auto add = [&](const char* name, const char* overload, auto* kernel) { add_if_missing(kernels, name, overload, kernel); };
    add("abs", "", &own::like);
    add("logical_and", "", &own::truth_of_two);
    add("logical_and", "out", &own::truth_into);
    add("logical_or", "", &own::truth_of_two);
    add("logical_or", "out", &own::truth_into);
    add("logical_xor", "", &own::truth_of_two);
    add("logical_xor", "out", &own::truth_into);
    add("logical_not", "", &own::truth);
    add("flip", "", &own::flip);
    add("roll", "", &own::roll);
    add("isnan", "", &own::truth);
    add("nan_to_num", "", &own::replaced);
    add("var", "correction", &own::spread);
    add("std", "correction", &own::spread);
    add("var_mean", "correction", &own::spread_and_mean);
    add("std_mean", "correction", &own::spread_and_mean);
    add("hardtanh", "", &own::bounded);
    add("hardtanh_backward", "", &own::bounded_backward);
    add("hardswish", "", &own::like);
    add("hardswish_", "", &own::itself);
    add("hardswish_backward", "", &own::gradient_like);
    add("glu_backward", "", &own::glu_backward);
    add("log_sigmoid_backward", "", &own::log_sigmoid_backward);
    add("nll_loss2d_forward", "", &own::nll_loss2d);
    add("nll_loss2d_backward", "", &own::nll_loss2d_backward);
    add("unfold_backward", "", &own::unfold_backward);
    add("bucketize", "Tensor", &own::bucketize);
    add("_prelu_kernel", "", &own::prelu_kernel);
    add("_prelu_kernel_backward", "", &own::prelu_kernel_backward);
    add("_weight_norm_interface", "", &own::weight_norm);
    add("_weight_norm_interface_backward", "", &own::weight_norm_backward);
}

}  // namespace hpo::libtorch::shapes_of_cuda
