// SPDX-License-Identifier: MIT
#include "torch/meta/cuda_reductions.hpp"

#include <ATen/ExpandUtils.h>
#include <ATen/ops/all_meta_dispatch.h>
#include <ATen/ops/amax_meta_dispatch.h>
#include <ATen/ops/amin_meta_dispatch.h>
#include <ATen/ops/any_meta_dispatch.h>
#include <ATen/ops/argmax_meta_dispatch.h>
#include <ATen/ops/argmin_meta_dispatch.h>
#include <ATen/ops/linalg_vector_norm_meta_dispatch.h>
#include <ATen/ops/max_meta_dispatch.h>
#include <ATen/ops/mean_meta_dispatch.h>
#include <ATen/ops/min_meta_dispatch.h>
#include <ATen/ops/mse_loss_meta_dispatch.h>
#include <ATen/ops/norm_meta_dispatch.h>
#include <ATen/ops/smooth_l1_loss_meta_dispatch.h>
#include <ATen/ops/sum_meta_dispatch.h>
#include <torch/torch.h>
#include <algorithm>
#include <cstdint>
#include <tuple>

#include "torch/meta/staging.hpp"

namespace hpo::libtorch::kernels_of_cuda {

namespace own {

/// Sums of 16 bits are kept in fp32.
[[nodiscard]] inline std::int64_t bytes_of_sums(const Tensor& input) { return std::max<std::int64_t>(input.element_size(), 4); }

/// What a sum reads: the input, or a copy of another type. CUDA's kernels read 16 bits where the result is in fp32.
[[nodiscard]] inline Tensor summed(const Tensor& self, const Tensor& result) {
    const bool half = self.scalar_type() == at::kHalf || self.scalar_type() == at::kBFloat16;
    const bool as_it_is = self.scalar_type() == result.scalar_type() || (half && result.scalar_type() == at::kFloat);
    return as_it_is ? self : at::empty(self.sizes(), self.options().dtype(result.scalar_type()));
}
[[nodiscard]] inline Sizes all_or(const Places& dimensions) { return dimensions ? *dimensions : Sizes{}; }

template <class Loss>
[[nodiscard]] Tensor reduced_loss(const Tensor& self, const Tensor& target, std::int64_t reduction, const Loss& loss) {
    Tensor result = loss();  // which LibTorch makes as large as the losses, and then shrinks to one number
    if (reduction == at::Reduction::None) return result;
    const Tensor losses = at::empty(at::infer_size(self.sizes(), target.sizes()), self.options());
    stage(losses, {}, bytes_of_sums(losses));
    return result;
}

}  // namespace own

Card& card() {
    static Card card;
    return card;
}

void stage(const Tensor& input, Sizes dimensions, std::int64_t partial_bytes) {
    allocator::Reduction reduction = reduction_of(input, dimensions.vec());
    reduction.partial_bytes = partial_bytes;
    const allocator::Staging needed = allocator::staging_of(reduction, card().threads());
    if (needed.buffer == 0) return;
    const Tensor buffer = scratch(input, needed.buffer);
    const Tensor counters = scratch(input, needed.counters);
}

Tensor sum(const Tensor& self, Places dimensions, bool keep, Type type) {
    Tensor result = at::meta::sum(self, dimensions, keep, type);
    const Tensor read = own::summed(self, result);
    stage(read, own::all_or(dimensions), own::bytes_of_sums(read));
    return result;
}
Tensor mean(const Tensor& self, Places dimensions, bool keep, Type type) {
    Tensor result = at::meta::mean(self, dimensions, keep, type);
    const Tensor read = own::summed(self, result);
    stage(read, own::all_or(dimensions), own::bytes_of_sums(read));
    return result;
}
Tensor vector_norm(const Tensor& self, const at::Scalar& order, Places dimensions, bool keep, Type type) {
    Tensor result = at::meta::linalg_vector_norm(self, order, dimensions, keep, type);
    stage(self, own::all_or(dimensions), own::bytes_of_sums(self));
    return result;
}
Tensor norm(const Tensor& self, const TorchOptional<at::Scalar>& order, Sizes dimensions, bool keep) {
    Tensor result = at::meta::norm(self, order, dimensions, keep);
    stage(self, dimensions, own::bytes_of_sums(self));
    return result;
}
Tensor norm_in_type(const Tensor& self, const TorchOptional<at::Scalar>& order, Sizes dimensions, bool keep, at::ScalarType type) {
    Tensor result = at::meta::norm(self, order, dimensions, keep, type);
    stage(self, dimensions, own::bytes_of_sums(self));
    return result;
}
Tensor amax(const Tensor& self, Sizes dimensions, bool keep) {
    Tensor result = at::meta::amax(self, dimensions, keep);
    stage(self, dimensions, static_cast<std::int64_t>(self.element_size()));
    return result;
}
Tensor amin(const Tensor& self, Sizes dimensions, bool keep) {
    Tensor result = at::meta::amin(self, dimensions, keep);
    stage(self, dimensions, static_cast<std::int64_t>(self.element_size()));
    return result;
}

constexpr std::int64_t value_and_place = 16;  ///< bytes of a number with its index

Tensor argmax(const Tensor& self, TorchOptional<std::int64_t> dimension, bool keep) {
    Tensor result = at::meta::argmax(self, dimension, keep);
    stage(self, dimension ? Sizes{*dimension} : Sizes{}, value_and_place);
    return result;
}
Tensor argmin(const Tensor& self, TorchOptional<std::int64_t> dimension, bool keep) {
    Tensor result = at::meta::argmin(self, dimension, keep);
    stage(self, dimension ? Sizes{*dimension} : Sizes{}, value_and_place);
    return result;
}
std::tuple<Tensor, Tensor> max_of_dimension(const Tensor& self, std::int64_t dimension, bool keep) {
    auto result = at::meta::max(self, dimension, keep);
    stage(self, {dimension}, value_and_place);
    return result;
}
std::tuple<Tensor, Tensor> min_of_dimension(const Tensor& self, std::int64_t dimension, bool keep) {
    auto result = at::meta::min(self, dimension, keep);
    stage(self, {dimension}, value_and_place);
    return result;
}
Tensor extreme(const Tensor& self) {
    Tensor result = at::empty({}, self.options());
    stage(self, {}, static_cast<std::int64_t>(self.element_size()));
    return result;
}
Tensor any(const Tensor& self) {
    Tensor result = at::meta::any(self);
    stage(self, {}, static_cast<std::int64_t>(self.element_size()));
    return result;
}
Tensor all(const Tensor& self) {
    Tensor result = at::meta::all(self);
    stage(self, {}, static_cast<std::int64_t>(self.element_size()));
    return result;
}
Tensor mse_loss(const Tensor& self, const Tensor& target, std::int64_t reduction) {
    return own::reduced_loss(self, target, reduction, [&] { return at::meta::mse_loss(self, target, reduction); });
}
Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, std::int64_t reduction, double beta) {
    return own::reduced_loss(self, target, reduction, [&] { return at::meta::smooth_l1_loss(self, target, reduction, beta); });
}

}  // namespace hpo::libtorch::kernels_of_cuda
