// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>
#include <torch/torch.h>

#include <memory>
#include <type_traits>
#include <utility>

#include "hpo/torch/autocast.hpp"
#include "hpo/torch/meta_casts.hpp"
#include "hpo/torch/meta_factories.hpp"

namespace hpo::torch {

/// Autocast for the meta device, which LibTorch has not: while it lives, this thread's matrix products and convolutions of meta tensors
/// are cast where Autocast says so, as on the CPU. Operators that an autocast casts to fp32 are left as they are.
///
/// Design note: a dispatch key of a kind of device that is not here, put before all others in this thread, plays the part of the meta
/// device's own.
class MetaAutocast {
public:
    MetaAutocast() {
        if (!c10::Dispatcher::singleton().hasBackendFallbackForDispatchKey(key)) {
            others_ = std::make_unique<::torch::Library>(::torch::Library::IMPL, "_", key, __FILE__, __LINE__);
            others_->fallback(::torch::CppFunction::makeFallthrough());
        }
        c10::impl::tls_set_dispatch_key_excluded(key, false);  // as every autocast is where nobody has asked for it
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
    }
    ~MetaAutocast() { c10::impl::tls_set_dispatch_key_excluded(key, excluded_before_); }
    MetaAutocast(const MetaAutocast&) = delete;
    MetaAutocast& operator=(const MetaAutocast&) = delete;

private:
    static constexpr c10::DispatchKey key = c10::DispatchKey::AutocastXPU;

    static ::torch::Tensor cast(const ::torch::Tensor& tensor) {
        const AutocastState state = AutocastState::of(c10::DeviceType::Meta);
        const bool castable =
            tensor.defined() && tensor.is_meta() && tensor.is_floating_point() && tensor.scalar_type() != ::torch::kDouble;
        if (!state.enabled || !castable || tensor.scalar_type() == state.type) return tensor;
        const bool kept = tensor.scalar_type() == ::torch::kFloat && tensor.requires_grad() && tensor.is_leaf() && !tensor.is_view();
        if (!kept || !at::autocast::is_autocast_cache_enabled()) return tensor.to(state.type);
        if (const ::torch::Tensor* const before = MetaCasts::find(tensor)) return *before;
        ::torch::Tensor made = tensor.to(state.type);
        MetaCasts::keep(tensor, made);
        return made;
    }
    static TorchOptional<::torch::Tensor> cast(const TorchOptional<::torch::Tensor>& tensor) {
        return tensor ? TorchOptional<::torch::Tensor>{cast(*tensor)} : tensor;
    }
    template <class Other>
    static Other cast(Other other) {
        return other;
    }

    template <class Operator, class Signature>
    struct Kernel;
    template <class Operator, class Result, class... Arguments>
    struct Kernel<Operator, Result(Arguments...)> {
        static Result call(Arguments... arguments) {
            const c10::impl::ExcludeDispatchKeyGuard cast_once{key};
            return Operator::call(cast(arguments)...);
        }
    };
    template <class Operator>
    void add(const char* name) {
        operators_.impl(name, &Kernel<Operator, std::remove_pointer_t<decltype(&Operator::call)>>::call);
    }

    std::unique_ptr<::torch::Library> others_;
    ::torch::Library operators_{::torch::Library::IMPL, "aten", key, __FILE__, __LINE__};
    bool excluded_before_ = c10::impl::tls_is_dispatch_key_excluded(key);
    c10::impl::IncludeDispatchKeyGuard in_this_thread_{key};
};

}  // namespace hpo::torch
