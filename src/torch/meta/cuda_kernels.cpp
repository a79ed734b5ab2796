// SPDX-License-Identifier: MIT
#include "torch/meta/cuda_kernels.hpp"

#include <ATen/ExpandUtils.h>
#include <ATen/ops/_softmax_backward_data_meta_dispatch.h>
#include <ATen/ops/add_meta_dispatch.h>
#include <ATen/ops/addmm_meta_dispatch.h>
#include <ATen/ops/baddbmm_meta_dispatch.h>
#include <ATen/ops/bmm_meta_dispatch.h>
#include <ATen/ops/mm_meta_dispatch.h>
#include <torch/csrc/autograd/function.h>
#include <torch/torch.h>
#include <torch/version.h>
#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/autograd/graph_task.h>
#endif
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "hpo/allocator/cuda_overheads.hpp"
#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/recording/trace_recorder.hpp"
#include "torch/meta/cuda_reductions.hpp"

namespace hpo::libtorch::kernels_of_cuda {

namespace own {

/// CUB's radix sort of so many pairs of 64 bits, by keys of so many bits: second buffers, a histogram a pass of eight bits, and a state for
/// each of the tiles of 3840 pairs (of compute capability 8.0).
[[nodiscard]] inline std::int64_t sort_bytes(std::int64_t pairs, std::int64_t bits) {
    constexpr std::int64_t tile = 3840;
    if (pairs <= tile) return 1;
    return 511 + 2048 * ((bits + 7) / 8) + 1024 * ((pairs + tile - 1) / tile) + 16 * pairs;
}
/// CUB's scans: a state of 16 bytes for each tile of 1920 numbers, and for 32 more.
[[nodiscard]] inline std::int64_t scan_bytes(std::int64_t numbers) { return 511 + (16 * ((numbers + 1919) / 1920 + 32) + 255) / 256 * 256; }

#if TORCH_VERSION_MAJOR >= 2
[[nodiscard]] inline bool in_backward() { return torch::autograd::get_current_node() != nullptr; }
[[nodiscard]] inline bool in_backward_of(const char* operation) {
    const auto node = torch::autograd::get_current_node();
    return node && node->name().rfind(operation, 0) == 0;
}
#else  // LibTorch 1.13 does not tell
[[nodiscard]] inline bool in_backward() { return false; }
[[nodiscard]] inline bool in_backward_of(const char* /*operation*/) { return false; }
#endif

/// Whether this thread has a library's workspace: the forward pass's thread, and autograd's. By the number of the recording.
struct Owners {
    std::int64_t recording[2] = {0, 0};
    [[nodiscard]] std::int64_t& here() { return recording[in_backward() ? 1 : 0]; }
};

/// Records the workspace that a thread takes when it calls a library for the first time.
inline void take_workspace(Owners& owners, std::int64_t bytes, std::string_view scope, bool kept) {
    TraceRecorder& recorder = TraceRecorder::instance();
    if (bytes == 0 || Unmetered::in_force()) return;
    if (kept && owners.here() == recorder.recording()) return;
    const TraceRecorder::Ticket ticket = recorder.take(bytes, Recorded::device);
    if (ticket.recording == 0) return;
    recorder.name(ticket, std::string{scope});
    if (kept) owners.here() = ticket.recording;
    else recorder.give_back(ticket);
}
inline void take_cublas_workspace() {
    static Owners owners;
    take_workspace(owners, card().cublas_workspace_bytes, allocator::cublas_workspace_scope, true);
}
inline void take_cublaslt_workspace() {
    constexpr bool kept = TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 9);
    static Owners owners;
    take_workspace(owners, std::int64_t{1} << 20, allocator::cublaslt_workspace_scope, kept);
}

}  // namespace own

int& nodes() {
    thread_local int running = 0;
    return running;
}

Tensor softmax_backward(const Tensor& gradient, const Tensor& output, std::int64_t dimension, at::ScalarType type) {
    Tensor result = at::meta::_softmax_backward_data(gradient, output, dimension, type);
    const Tensor product = at::empty_like(gradient);
    return result;
}
Tensor mish_backward(const Tensor& /*gradient*/, const Tensor& self) { return at::empty_like(self); }

Tensor embedding_dense_backward(const Tensor& gradient, const Tensor& indices, std::int64_t rows, std::int64_t /*padding*/, bool scale) {
    constexpr std::int64_t few = 3072;  // which one kernel adds up by itself
    const std::int64_t count = indices.numel();
    const auto result = [&] { return at::empty({rows, gradient.size(-1)}, gradient.options()); };
    if (count <= few && !scale) return result();
    const auto numbers = [&](std::int64_t amount) { return scratch(gradient, 8 * amount); };
    const Tensor sorted = numbers(count);
    const Tensor places = numbers(count);
    {
        const Tensor range = numbers(count);
        const Tensor temporary = scratch(gradient, own::sort_bytes(count, 64));
    }
    Tensor sums = result();
    const std::int64_t segments = std::min(count, rows);
    constexpr std::int64_t rows_of_thread = 10;
    const std::int64_t partial_segments = count / rows_of_thread + segments;
    const Tensor offsets = numbers(count);
    const Tensor amount_of_segments = numbers(1);
    {
        const Tensor unused = numbers(count);
        const Tensor temporary = scratch(gradient, own::scan_bytes(count));
    }
    const Tensor partials = numbers(segments);
    const Tensor partial_offsets = numbers(segments);
    static_cast<void>(scratch(gradient, own::scan_bytes(segments)));
    const Tensor amount_of_partials = numbers(1);
    const Tensor places_of_partials = numbers(partial_segments);
    const Tensor sums_of_partials = scratch(gradient, 4 * partial_segments * gradient.size(-1));
    return sums;
}

Tensor value_selecting_reduction_backward(const Tensor& gradient, std::int64_t dimension, const Tensor& indices, Sizes sizes, bool keep) {
    const bool is_reduced = !keep && !sizes.empty();
    return at::zeros(sizes, gradient.options())
        .scatter_(dimension, is_reduced ? indices.unsqueeze(dimension) : indices, is_reduced ? gradient.unsqueeze(dimension) : gradient);
}
Tensor index_select_backward(const Tensor& gradient, Sizes sizes, std::int64_t dimension, const Tensor& index) {
    return at::zeros(sizes, gradient.options()).index_add_(dimension, index, gradient);
}
Tensor gather_backward(const Tensor& gradient, const Tensor& self, std::int64_t dimension, const Tensor& index, bool sparse) {
    if (sparse) return at::_gather_sparse_backward(self, dimension, index, gradient);
    return at::zeros(self.sizes(), gradient.options()).scatter_add_(dimension, index, gradient);
}

Tensor index_put(const Tensor& self, const c10::List<TorchOptional<Tensor>>& indices, const Tensor& values, bool accumulate) {
    Tensor result = own::in_backward_of("IndexBackward") ? self : self.clone();
    if (!accumulate) return at::_index_put_impl_(result, indices, values, accumulate, false);
    std::int64_t count = 0;
    std::int64_t rows = 0;
    for (std::size_t i = 0; i < indices.size(); ++i) {
        const TorchOptional<Tensor> index = indices.get(i);
        if (!index || !index->defined()) continue;
        count = std::max(count, index->numel());
        rows = rows == 0 ? self.size(static_cast<std::int64_t>(i)) : rows * self.size(static_cast<std::int64_t>(i));
    }
    if (count == 0) return result;
    // The indices are counted as one number each, sorted, and so added up in order.
    const auto numbers = [&] { return scratch(self, 8 * count); };
    Tensor wrapped = numbers();
    const Tensor counted = numbers();
    wrapped.reset();
    const Tensor sorted = numbers();
    const Tensor places = numbers();
    const Tensor range = numbers();
    std::int64_t bits = 0;
    while (bits < 63 && (std::int64_t{1} << bits) < rows) ++bits;
    const Tensor temporary = scratch(self, own::sort_bytes(count, bits));
    return result;
}

Tensor add(const Tensor& self, const Tensor& other, const at::Scalar& alpha) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1)
    // In a backward pass but in no node of the graph, only the engine adds.
    if (torch::autograd::get_current_graph_task_id() >= 0 && nodes() == 0 && !at::GradMode::is_enabled()) {
        const auto nobody_elses = [](const Tensor& sum) {
            return sum.use_count() == 1 && sum.has_storage() && sum.storage().use_count() == 1 && sum.is_non_overlapping_and_dense();
        };
        if (nobody_elses(self)) return self;
    }
#endif
    return at::meta::add(self, other, alpha);
}

Tensor mm(const Tensor& self, const Tensor& other) {
    Tensor result = at::meta::mm(self, other);
    own::take_cublas_workspace();
    return result;
}
Tensor bmm(const Tensor& self, const Tensor& other) {
    Tensor result = at::meta::bmm(self, other);
    own::take_cublas_workspace();
    return result;
}
Tensor baddbmm(const Tensor& self, const Tensor& left, const Tensor& right, const at::Scalar& beta, const at::Scalar& alpha) {
    Tensor result = at::meta::baddbmm(self, left, right, beta, alpha);
    own::take_cublas_workspace();
    return result;
}
Tensor addmm(const Tensor& self, const Tensor& left, const Tensor& right, const at::Scalar& beta, const at::Scalar& alpha) {
    Tensor result = at::meta::addmm(self, left, right, beta, alpha);
    own::take_cublas_workspace();
    // A bias is added by the product's own kernel, which only cuBLASLt has.
    const bool bias = self.dim() == 1 && self.size(0) == right.size(1) && self.is_contiguous() && beta.toComplexDouble() == 1.0;
    if (bias && right.size(0) > 1 && right.size(1) > 1) own::take_cublaslt_workspace();
    return result;
}

std::tuple<Tensor, Tensor> log_sigmoid_forward(const Tensor& self) {
    Tensor result = at::empty_like(self);
    return {result, at::empty({0}, self.options())};
}

std::tuple<Tensor, Tensor, Tensor> native_group_norm(const Tensor& input, const TorchOptional<Tensor>& /*weight*/,
                                                     const TorchOptional<Tensor>& /*bias*/, std::int64_t examples, std::int64_t channels,
                                                     std::int64_t /*extent*/, std::int64_t groups, double /*eps*/) {
    Tensor result = at::empty_like(input);
    Tensor mean = at::empty({examples, groups}, input.options());
    Tensor deviation = at::empty({examples, groups}, input.options());
    const auto fp32 = input.options().dtype(at::kFloat);
    const Tensor factors = at::empty({examples, channels}, fp32);
    const Tensor summands = at::empty({examples, channels}, fp32);
    return {result, mean, deviation};
}
std::tuple<Tensor, Tensor, Tensor> native_group_norm_backward(const Tensor& /*gradient*/, const Tensor& input, const Tensor& /*mean*/,
                                                              const Tensor& /*deviation*/, const TorchOptional<Tensor>& weight,
                                                              std::int64_t examples, std::int64_t channels, std::int64_t /*extent*/,
                                                              std::int64_t groups, std::array<bool, 3> wanted) {
    Tensor of_input = wanted[0] ? at::empty_like(input) : Tensor{};
    Tensor of_weight = wanted[1] && weight && weight->defined() ? at::empty_like(*weight) : Tensor{};
    Tensor of_bias = wanted[2] ? at::empty({channels}, input.options()) : Tensor{};
    const auto fp32 = input.options().dtype(at::kFloat);
    const Tensor of_scale = at::empty({examples, channels}, fp32);
    const Tensor of_shift = at::empty({examples, channels}, fp32);
    if (wanted[0]) {
        const Tensor first = at::empty({examples, groups}, fp32);
        const Tensor second = at::empty({examples, groups}, fp32);
        const Tensor of_each = at::empty({examples, channels}, fp32);
    }
    return {of_input, of_weight, of_bias};
}

std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double /*probability*/, TorchOptional<bool> /*training*/) {
    Tensor mask = at::empty_like(input, input.options().dtype(at::kBool));
    return {at::empty_like(input), mask};
}
Tensor native_dropout_backward(const Tensor& gradient, const Tensor& /*mask*/, double /*scale*/) {
    return at::empty_like(gradient, gradient.suggest_memory_format());
}

}  // namespace hpo::libtorch::kernels_of_cuda
