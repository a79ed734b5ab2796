// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>
#include <torch/torch.h>

#include <memory>
#include <type_traits>
#include <vector>

#include "torch/meta/factories.hpp"

namespace hpo::libtorch {

/// Autocast for the meta device, which LibTorch lacks. While it lives, this thread's matrix products and convolutions of meta tensors are
/// cast as Autocast says. If the device stands in for CUDA, all operators are treated that LibTorch lists for it: products in 16 bits;
/// powers, norms, losses and the like in fp32; sums to fp32; and a few in the widest type of their arguments.
///
/// Design note: it uses the dispatch key of a kind of device that does not exist here. In this thread that key comes before all others, and
/// plays the part of the meta device's own.
class MetaAutocast {
public:
    explicit MetaAutocast(MetaTarget target);
    ~MetaAutocast() { c10::impl::tls_set_dispatch_key_excluded(key, excluded_before_); }
    MetaAutocast(const MetaAutocast&) = delete;
    MetaAutocast& operator=(const MetaAutocast&) = delete;

private:
    static constexpr c10::DispatchKey key = c10::DispatchKey::AutocastXPU;

    /// Casts a tensor to Autocast's type. Each weight is cast once.
    struct InHalf {
        static torch::Tensor cast(const torch::Tensor& tensor);
    };
    /// Casts a tensor to fp32 if autocast is on.
    struct InSingle {
        static torch::Tensor cast(const torch::Tensor& tensor);
    };
    /// A call's own policy: fp32 if one of the arguments has it, else Autocast's type.
    struct InWidest {
        bool single = false;
        template <class Argument>
        void see(const Argument& argument) {
            if constexpr (std::is_same_v<Argument, torch::Tensor>)
                single = single || (castable(argument) && argument.scalar_type() == torch::kFloat);
            else if constexpr (std::is_same_v<Argument, at::TensorList>)
                for (const torch::Tensor& each : argument) see(each);
        }
    };
    static bool castable(const torch::Tensor& tensor) {
        return tensor.defined() && tensor.is_meta() && tensor.is_floating_point() && tensor.scalar_type() != torch::kDouble;
    }

    template <class Policy, class Argument>
    static Argument cast(const Argument& argument) {
        if constexpr (std::is_same_v<Argument, torch::Tensor>) return Policy::cast(argument);
        else if constexpr (std::is_same_v<Argument, TorchOptional<torch::Tensor>>)
            return argument ? Argument{Policy::cast(*argument)} : argument;
        else return argument;
    }
    template <class Policy>
    static std::vector<torch::Tensor> cast(const at::TensorList& all) {
        std::vector<torch::Tensor> made;
        for (const torch::Tensor& each : all) made.push_back(Policy::cast(each));
        return made;
    }

    template <class Operator, class Policy, class Signature>
    struct Kernel;
    template <class Operator, class Policy, class Result, class... Arguments>
    struct Kernel<Operator, Policy, Result(Arguments...)> {
        static Result call(Arguments... arguments) {
            const c10::impl::ExcludeDispatchKeyGuard cast_once{key};
            return Operator::call(cast<Policy>(arguments)...);
        }
    };
    template <class Operator, class Result, class... Arguments>
    struct Kernel<Operator, InWidest, Result(Arguments...)> {
        static Result call(Arguments... arguments) {
            const c10::impl::ExcludeDispatchKeyGuard cast_once{key};
            InWidest widest;
            (widest.see(arguments), ...);
            return widest.single ? Operator::call(cast<InSingle>(arguments)...) : Operator::call(cast<InHalf>(arguments)...);
        }
    };
    /// The result's type is fp32 unless the call names another.
    struct ToSingle {};
    template <class Operator, class Result, class... Arguments>
    struct Kernel<Operator, ToSingle, Result(const torch::Tensor&, Arguments...)> {
        static Result call(const torch::Tensor& self, Arguments... arguments) {
            const c10::impl::ExcludeDispatchKeyGuard cast_once{key};
            return Operator::call(self, with_type(self, arguments)...);
        }
        template <class Argument>
        static Argument with_type(const torch::Tensor& self, const Argument& argument) {
            if constexpr (std::is_same_v<Argument, TorchOptional<at::ScalarType>>) {
                if (!argument && castable(self) && enabled()) return torch::kFloat;
            }
            return argument;
        }
    };
    static bool enabled();

    void add_products();
    void add_in_single();
    void add_others();
    template <class Operator, class Policy = InHalf>
    void add(const char* name) {
        operators_.impl(name, &Kernel<Operator, Policy, std::remove_pointer_t<decltype(&Operator::call)>>::call);
    }

    std::unique_ptr<torch::Library> others_;
    torch::Library operators_{torch::Library::IMPL, "aten", key, __FILE__, __LINE__};
    bool excluded_before_ = c10::impl::tls_is_dispatch_key_excluded(key);
    c10::impl::IncludeDispatchKeyGuard in_this_thread_{key};
};

}  // namespace hpo::libtorch
