// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/Parallel.h>
#include <ATen/ops/addmm_meta_dispatch.h>
#include <ATen/ops/baddbmm_meta_dispatch.h>
#include <ATen/ops/bmm_meta_dispatch.h>
#include <ATen/ops/mm_meta_dispatch.h>
#include <torch/torch.h>

#include <cstdint>

#include "hpo/torch/meta/onednn.hpp"
#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/recording/trace_recorder.hpp"

/// Products on the meta device if it stands in for the CPU, of [.., rows, inner] by [.., inner, columns]. In 16 bits, oneDNN takes memory
/// of its own for them.
namespace hpo::libtorch::kernels_of_meta {

using at::Tensor;

inline constexpr const char* product_scratch = "oneDNN's scratch for a product";  ///< the scope of this memory's upper bound

/// Returns `product` and records the scratch as taken and given back.
[[nodiscard]] inline Tensor with_scratch(const Tensor& left, const Tensor& right, Tensor product) {
    if (left.element_size() != 2 || !onednn_has(left.scalar_type()) || Unmetered::in_force()) return product;
    const std::int64_t count = left.dim() == 3 ? left.size(0) : 1;
    const std::int64_t of_thread = onednn_product_scratch(count, left.size(-2), right.size(-1), left.size(-1));
    if (of_thread == 0) return product;
    TraceRecorder& recorder = TraceRecorder::instance();
    const TraceRecorder::Ticket scratch = recorder.take(of_thread * at::get_num_threads(), Recorded::device);
    recorder.name(scratch, product_scratch);
    recorder.give_back(scratch);
    return product;
}
[[nodiscard]] inline Tensor host_mm(const Tensor& self, const Tensor& other) {
    return with_scratch(self, other, at::meta::mm(self, other));
}
[[nodiscard]] inline Tensor host_bmm(const Tensor& self, const Tensor& other) {
    return with_scratch(self, other, at::meta::bmm(self, other));
}
[[nodiscard]] inline Tensor host_addmm(const Tensor& self, const Tensor& left, const Tensor& right, const at::Scalar& beta,
                                       const at::Scalar& alpha) {
    return with_scratch(left, right, at::meta::addmm(self, left, right, beta, alpha));
}
[[nodiscard]] inline Tensor host_baddbmm(const Tensor& self, const Tensor& left, const Tensor& right, const at::Scalar& beta,
                                         const at::Scalar& alpha) {
    return with_scratch(left, right, at::meta::baddbmm(self, left, right, beta, alpha));
}

}  // namespace hpo::libtorch::kernels_of_meta
