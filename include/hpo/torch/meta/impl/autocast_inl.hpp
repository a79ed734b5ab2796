// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>
#include <torch/torch.h>
#include <memory>

#include "hpo/base/inline.hpp"
#include "hpo/torch/autocast.hpp"
#include "hpo/torch/meta/autocast.hpp"
#include "hpo/torch/meta/casts.hpp"
#include "hpo/torch/meta/quiet_registration.hpp"

namespace hpo::libtorch::inline meta {

HPO_INLINE MetaAutocast::MetaAutocast(MetaTarget target) {
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
    add<at::_ops::layer_norm, InSingle>("layer_norm");
    add<at::_ops::group_norm, InSingle>("group_norm");
    add<at::_ops::softmax_int, InSingle>("softmax.int");
    add<at::_ops::log_softmax_int, InSingle>("log_softmax.int");
}

HPO_INLINE torch::Tensor MetaAutocast::InHalf::cast(const torch::Tensor& tensor) {
    const AutocastState state = AutocastState::of(c10::DeviceType::Meta);
    if (!state.enabled || !castable(tensor) || tensor.scalar_type() == state.type) return tensor;
    const bool weight = tensor.scalar_type() == torch::kFloat && tensor.requires_grad() && tensor.is_leaf() && !tensor.is_view();
    if (!weight || !at::autocast::is_autocast_cache_enabled()) return tensor.to(state.type);
    if (const torch::Tensor* const before = MetaCasts::find(tensor)) return *before;
    torch::Tensor made = tensor.to(state.type);
    MetaCasts::keep(tensor, made);
    return made;
}

HPO_INLINE torch::Tensor MetaAutocast::InSingle::cast(const torch::Tensor& tensor) {
    const bool on = AutocastState::of(c10::DeviceType::Meta).enabled;
    return on && castable(tensor) ? tensor.to(torch::kFloat) : tensor;
}

}  // namespace hpo::libtorch::meta
