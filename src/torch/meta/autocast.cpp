// SPDX-License-Identifier: MIT
#include "torch/meta/autocast.hpp"

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>
#include <torch/torch.h>
#include <memory>

#include "hpo/torch/autocast.hpp"
#include "torch/meta/casts.hpp"
#include "torch/meta/quiet_registration.hpp"

namespace hpo::libtorch {

MetaAutocast::MetaAutocast(MetaTarget target) {
    const QuietRegistration quiet;
    if (!c10::Dispatcher::singleton().hasBackendFallbackForDispatchKey(key)) {
        others_ = std::make_unique<torch::Library>(torch::Library::IMPL, "_", key, __FILE__, __LINE__);
        others_->fallback(torch::CppFunction::makeFallthrough());
    }
    c10::impl::tls_set_dispatch_key_excluded(key, false);  // LibTorch excludes every autocast key by default
    add<at::_ops::linear>("linear");
    add<at::_ops::matmul>("matmul");
    add<at::_ops::mm>("mm");
    add<at::_ops::bmm>("bmm");
    add<at::_ops::addmm>("addmm");
    add<at::_ops::baddbmm>("baddbmm");
    add<at::_ops::conv1d>("conv1d");
    add<at::_ops::conv2d>("conv2d");
    add<at::_ops::conv3d>("conv3d");
#if TORCH_VERSION_MAJOR >= 2
    add<at::_ops::scaled_dot_product_attention>("scaled_dot_product_attention");
#endif
    if (target == MetaTarget::cpu) return;
    add_products();
    add_in_single();
    add_others();
}

// The lists of LibTorch's ATen/autocast_mode.h. What is inside of another operator of a list (a convolution, LSTM's cell) is cast by that.

void MetaAutocast::add_products() {
    add<at::_ops::mv>("mv");
    add<at::_ops::addmv>("addmv");
    add<at::_ops::addbmm>("addbmm");
    add<at::_ops::addr>("addr");
    add<at::_ops::prelu>("prelu");
    add<at::_ops::conv_tbc>("conv_tbc");
    add<at::_ops::conv_transpose1d>("conv_transpose1d");
    add<at::_ops::conv_transpose2d_input>("conv_transpose2d.input");
    add<at::_ops::conv_transpose3d_input>("conv_transpose3d.input");
    add<at::_ops::einsum>("einsum");
    add<at::_ops::chain_matmul>("chain_matmul");
    add<at::_ops::linalg_multi_dot>("linalg_multi_dot");
    add<at::_ops::linalg_vecdot>("linalg_vecdot");
    add<at::_ops::lstm_cell>("lstm_cell");
    add<at::_ops::gru_cell>("gru_cell");
    add<at::_ops::rnn_tanh_cell>("rnn_tanh_cell");
    add<at::_ops::rnn_relu_cell>("rnn_relu_cell");
}

void MetaAutocast::add_in_single() {
    add<at::_ops::acos, InSingle>("acos");
    add<at::_ops::asin, InSingle>("asin");
    add<at::_ops::cosh, InSingle>("cosh");
    add<at::_ops::erfinv, InSingle>("erfinv");
    add<at::_ops::exp, InSingle>("exp");
    add<at::_ops::expm1, InSingle>("expm1");
    add<at::_ops::log, InSingle>("log");
    add<at::_ops::log10, InSingle>("log10");
    add<at::_ops::log2, InSingle>("log2");
    add<at::_ops::log1p, InSingle>("log1p");
    add<at::_ops::reciprocal, InSingle>("reciprocal");
    add<at::_ops::rsqrt, InSingle>("rsqrt");
    add<at::_ops::sinh, InSingle>("sinh");
    add<at::_ops::tan, InSingle>("tan");
    add<at::_ops::pow_Tensor_Scalar, InSingle>("pow.Tensor_Scalar");
    add<at::_ops::pow_Tensor_Tensor, InSingle>("pow.Tensor_Tensor");
    add<at::_ops::pow_Scalar, InSingle>("pow.Scalar");
    add<at::_ops::softplus, InSingle>("softplus");
    add<at::_ops::layer_norm, InSingle>("layer_norm");
    add<at::_ops::native_layer_norm, InSingle>("native_layer_norm");
    add<at::_ops::group_norm, InSingle>("group_norm");
    add<at::_ops::frobenius_norm_dim, InSingle>("frobenius_norm.dim");
    add<at::_ops::nuclear_norm, InSingle>("nuclear_norm");
    add<at::_ops::nuclear_norm_dim, InSingle>("nuclear_norm.dim");
    add<at::_ops::cosine_similarity, InSingle>("cosine_similarity");
    add<at::_ops::poisson_nll_loss, InSingle>("poisson_nll_loss");
    add<at::_ops::cosine_embedding_loss, InSingle>("cosine_embedding_loss");
    add<at::_ops::nll_loss, InSingle>("nll_loss");
    add<at::_ops::nll_loss2d, InSingle>("nll_loss2d");
    add<at::_ops::hinge_embedding_loss, InSingle>("hinge_embedding_loss");
    add<at::_ops::kl_div, InSingle>("kl_div");
    add<at::_ops::l1_loss, InSingle>("l1_loss");
    add<at::_ops::smooth_l1_loss, InSingle>("smooth_l1_loss");
    add<at::_ops::mse_loss, InSingle>("mse_loss");
    add<at::_ops::margin_ranking_loss, InSingle>("margin_ranking_loss");
    add<at::_ops::multilabel_margin_loss, InSingle>("multilabel_margin_loss");
    add<at::_ops::soft_margin_loss, InSingle>("soft_margin_loss");
    add<at::_ops::triplet_margin_loss, InSingle>("triplet_margin_loss");
    add<at::_ops::multi_margin_loss, InSingle>("multi_margin_loss");
    add<at::_ops::binary_cross_entropy_with_logits, InSingle>("binary_cross_entropy_with_logits");
    add<at::_ops::dist, InSingle>("dist");
    add<at::_ops::pdist, InSingle>("pdist");
    add<at::_ops::cdist, InSingle>("cdist");
    add<at::_ops::renorm, InSingle>("renorm");
#if TORCH_VERSION_MAJOR >= 2
    add<at::_ops::huber_loss, InSingle>("huber_loss");
    add<at::_ops::logsumexp, InSingle>("logsumexp");
    add<at::_ops::upsample_nearest1d, InSingle>("upsample_nearest1d");
    add<at::_ops::_upsample_nearest_exact1d, InSingle>("_upsample_nearest_exact1d");
    add<at::_ops::upsample_nearest2d, InSingle>("upsample_nearest2d");
    add<at::_ops::_upsample_nearest_exact2d, InSingle>("_upsample_nearest_exact2d");
    add<at::_ops::upsample_nearest3d, InSingle>("upsample_nearest3d");
    add<at::_ops::_upsample_nearest_exact3d, InSingle>("_upsample_nearest_exact3d");
    add<at::_ops::upsample_linear1d, InSingle>("upsample_linear1d");
    add<at::_ops::upsample_bilinear2d, InSingle>("upsample_bilinear2d");
    add<at::_ops::_upsample_bilinear2d_aa, InSingle>("_upsample_bilinear2d_aa");
    add<at::_ops::upsample_trilinear3d, InSingle>("upsample_trilinear3d");
    add<at::_ops::upsample_bicubic2d, InSingle>("upsample_bicubic2d");
    add<at::_ops::_upsample_bicubic2d_aa, InSingle>("_upsample_bicubic2d_aa");
#endif
}

void MetaAutocast::add_others() {
    add<at::_ops::prod, ToSingle>("prod");
    add<at::_ops::prod_dim_int, ToSingle>("prod.dim_int");
    add<at::_ops::softmax_int, ToSingle>("softmax.int");
    add<at::_ops::log_softmax_int, ToSingle>("log_softmax.int");
    add<at::_ops::cumprod, ToSingle>("cumprod");
    add<at::_ops::cumsum, ToSingle>("cumsum");
    add<at::_ops::sum, ToSingle>("sum");
    add<at::_ops::sum_dim_IntList, ToSingle>("sum.dim_IntList");
#if TORCH_VERSION_MAJOR >= 2
    add<at::_ops::linalg_vector_norm, ToSingle>("linalg_vector_norm");
    add<at::_ops::linalg_matrix_norm, ToSingle>("linalg_matrix_norm");
    add<at::_ops::linalg_matrix_norm_str_ord, ToSingle>("linalg_matrix_norm.str_ord");
#endif
    add<at::_ops::addcdiv, InWidest>("addcdiv");
    add<at::_ops::addcmul, InWidest>("addcmul");
    add<at::_ops::atan2, InWidest>("atan2");
    add<at::_ops::bilinear, InWidest>("bilinear");
    add<at::_ops::cross, InWidest>("cross");
    add<at::_ops::dot, InWidest>("dot");
    add<at::_ops::vdot, InWidest>("vdot");
    add<at::_ops::grid_sampler, InWidest>("grid_sampler");
    add<at::_ops::index_put, InWidest>("index_put");
    add<at::_ops::tensordot, InWidest>("tensordot");
    add<at::_ops::scatter_add, InWidest>("scatter_add");
    // LibTorch 2 refuses it under this key, whether or not anything is cast. On CUDA it refuses it only if Autocast is on.
    add<at::_ops::binary_cross_entropy, InSingle>("binary_cross_entropy");
    operators_.impl(
        "norm.Scalar", +[](const torch::Tensor& self, const at::Scalar& order) {
            const c10::impl::ExcludeDispatchKeyGuard cast_once{key};
            return enabled() && castable(self) ? at::norm(self, order, torch::kFloat) : at::norm(self, order);
        });
    operators_.impl(
        "norm.ScalarOpt_dim",
        +[](const torch::Tensor& self, const TorchOptional<at::Scalar>& order, at::IntArrayRef dimensions, bool keep) {
            const c10::impl::ExcludeDispatchKeyGuard cast_once{key};
            return enabled() && castable(self) ? at::norm(self, order, dimensions, keep, torch::kFloat)
                                               : at::norm(self, order, dimensions, keep);
        });
}

bool MetaAutocast::enabled() { return AutocastState::of(c10::DeviceType::Meta).enabled; }

torch::Tensor MetaAutocast::InHalf::cast(const torch::Tensor& tensor) {
    const AutocastState state = AutocastState::of(c10::DeviceType::Meta);
    if (!state.enabled || !castable(tensor) || tensor.scalar_type() == state.type) return tensor;
    const bool weight = tensor.scalar_type() == torch::kFloat && tensor.requires_grad() && tensor.is_leaf() && !tensor.is_view();
    if (!weight || !at::autocast::is_autocast_cache_enabled()) return tensor.to(state.type);
    if (const torch::Tensor* const before = MetaCasts::find(tensor)) return *before;
    torch::Tensor made = tensor.to(state.type);
    MetaCasts::keep(tensor, made);
    return made;
}

torch::Tensor MetaAutocast::InSingle::cast(const torch::Tensor& tensor) {
    return enabled() && castable(tensor) ? tensor.to(torch::kFloat) : tensor;
}

}  // namespace hpo::libtorch
