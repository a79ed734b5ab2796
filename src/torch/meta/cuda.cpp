// SPDX-License-Identifier: MIT
#include "torch/meta/cuda.hpp"

#include <ATen/NativeFunctions.h>
#include <ATen/record_function.h>
#include <torch/library.h>
#include <torch/torch.h>
#include <torch/version.h>
#include <cstdint>
#include <memory>
#include <tuple>

#include "torch/meta/cuda_attention.hpp"
#include "torch/meta/cuda_kernels.hpp"
#include "torch/meta/cuda_reductions.hpp"
#include "torch/meta/cuda_shapes.hpp"
#include "torch/meta/quiet_registration.hpp"
#include "torch/recording/doubt.hpp"

namespace hpo::libtorch {

MetaCuda::MetaCuda(const Card& card) {
    const QuietRegistration quiet;
    kernels_of_cuda::card() = card;
    operators_.impl("dropout", &dropout);
    operators_.impl("softmax.int", &softmax);
    operators_.impl("log_softmax.int", &log_softmax);
    operators_.impl("lstm.input", &lstm);
    operators_.impl("value_selecting_reduction_backward", &kernels_of_cuda::value_selecting_reduction_backward);
    operators_.impl("index_select_backward", &kernels_of_cuda::index_select_backward);
    operators_.impl("gather_backward", &kernels_of_cuda::gather_backward);
#if TORCH_VERSION_MAJOR >= 2
    operators_.impl("scaled_dot_product_attention", &attention);
#endif
    add_kernels();
    // The engine adds up a tensor's gradients outside of nodes.
    nodes_ = at::addThreadLocalCallback(at::RecordFunctionCallback{
        +[](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
            ++kernels_of_cuda::nodes();
            return nullptr;
        },
        +[](const at::RecordFunction&, at::ObserverContext*) {
            --kernels_of_cuda::nodes();
        }}.scopes({at::RecordScope::BACKWARD_FUNCTION}));
}

MetaCuda::~MetaCuda() { at::removeCallback(nodes_); }

void MetaCuda::add_kernels() {
    namespace kernel = kernels_of_cuda;
    kernels_.impl("sum.dim_IntList", &kernel::sum);
    kernels_.impl("mean.dim", &kernel::mean);
    kernels_.impl("linalg_vector_norm", &kernel::vector_norm);
    kernels_.impl("norm.ScalarOpt_dim", &kernel::norm);
    kernels_.impl("norm.ScalarOpt_dim_dtype", &kernel::norm_in_type);
    kernels_.impl("amax", &kernel::amax);
    kernels_.impl("amin", &kernel::amin);
    kernels_.impl("argmax", &kernel::argmax);
    kernels_.impl("argmin", &kernel::argmin);
    kernels_.impl("max.dim", &kernel::max_of_dimension);
    kernels_.impl("min.dim", &kernel::min_of_dimension);
    kernels_.impl("max", &kernel::extreme);
    kernels_.impl("min", &kernel::extreme);
    kernels_.impl("any", &kernel::any);
    kernels_.impl("all", &kernel::all);
    kernels_.impl("mse_loss", &kernel::mse_loss);
    kernels_.impl("smooth_l1_loss", &kernel::smooth_l1_loss);
    kernels_.impl("mm", &kernel::mm);
    kernels_.impl("bmm", &kernel::bmm);
    kernels_.impl("baddbmm", &kernel::baddbmm);
    kernels_.impl("addmm", &kernel::addmm);
    kernels_.impl("_softmax_backward_data", &kernel::softmax_backward);
    kernels_.impl("mish_backward", &kernel::mish_backward);
    kernels_.impl("embedding_dense_backward", &kernel::embedding_dense_backward);
    kernels_.impl("index_put", &kernel::index_put);
    kernels_.impl("add.Tensor", &kernel::add);
    kernels_.impl("log_sigmoid_forward", &kernel::log_sigmoid_forward);
    kernels_.impl("native_group_norm", &kernel::native_group_norm);
    kernels_.impl("native_group_norm_backward", &kernel::native_group_norm_backward);
    kernels_.impl("native_dropout", &kernel::native_dropout);
    kernels_.impl("native_dropout_backward", &kernel::native_dropout_backward);
    shapes_of_cuda::add_to(kernels_);
}

MetaCuda::Tensor MetaCuda::softmax(const Tensor& input, std::int64_t dimension, TorchOptional<at::ScalarType> type) {
    if (input.scalar_type() == at::kHalf && type == at::kFloat) return at::_softmax(input, dimension, true);
    return at::native::softmax(input, dimension, type);
}
MetaCuda::Tensor MetaCuda::log_softmax(const Tensor& input, std::int64_t dimension, TorchOptional<at::ScalarType> type) {
    if (input.scalar_type() == at::kHalf && type == at::kFloat) return at::_log_softmax(input, dimension, true);
    return at::native::log_softmax(input, dimension, type);
}

MetaCuda::Tensor MetaCuda::dropout(const Tensor& input, double probability, bool training) {
    if (training && probability > 0 && probability < 1 && input.numel() > 0)
        return std::get<0>(at::native_dropout(input, probability, training));
    return at::native::dropout(input, probability, training);
}

std::tuple<MetaCuda::Tensor, MetaCuda::Tensor, MetaCuda::Tensor> MetaCuda::lstm(const Tensor& input, at::TensorList states,
                                                                                at::TensorList parameters, bool biases, std::int64_t layers,
                                                                                double dropout, bool training, bool bidirectional,
                                                                                bool batch_first) {
    Doubt::note(0.25, "cuDNN's LSTM");
    return at::native::lstm(input, states, parameters, biases, layers, dropout, training, bidirectional, batch_first);
}

#if TORCH_VERSION_MAJOR >= 2
MetaCuda::Tensor MetaCuda::attention(const Tensor& query, const Tensor& key, const Tensor& value, const TorchOptional<Tensor>& mask,
                                     double dropout, bool causal, TorchOptional<double> scale, bool grouped) {
    if (!CudaAttention::takes(query, mask))
        return std::get<0>(at::_scaled_dot_product_attention_math(query, key, value, mask, dropout, causal, {}, scale, grouped));
    return CudaAttention::of(query, key, value, mask, dropout);
}
#endif

}  // namespace hpo::libtorch
