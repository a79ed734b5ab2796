// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

namespace hpo::torch {

/// While it lives, LibTorch leaves nothing to oneDNN where this processor's oneDNN has not the type that autocast casts to: autocast hands
/// it an LSTM all the same, and that is an error (seen with 2.11 on a processor without AVX-512). LibTorch's own kernels take its place.
/// Holds for the process, not for a thread alone.
class OneDnnWhereItCasts {
public:
    /// For a region that casts to `type` on devices of the kind `kind`.
    OneDnnWhereItCasts(c10::DeviceType kind, c10::ScalarType type) : before_{at::globalContext().userEnabledMkldnn()} {
        if (kind == c10::DeviceType::CPU && before_ && !has(type)) at::globalContext().setUserEnabledMkldnn(false);
    }
    ~OneDnnWhereItCasts() { at::globalContext().setUserEnabledMkldnn(before_); }
    OneDnnWhereItCasts(const OneDnnWhereItCasts&) = delete;
    OneDnnWhereItCasts& operator=(const OneDnnWhereItCasts&) = delete;

private:
    /// What LibTorch asks itself before it gives a tensor of the type to oneDNN.
    static bool has(c10::ScalarType type) {
        static const bool bf16 = answer("mkldnn::_is_mkldnn_bf16_supported");
        static const bool fp16 = answer("mkldnn::_is_mkldnn_fp16_supported");
        if (type == c10::ScalarType::BFloat16) return bf16;
        return type != c10::ScalarType::Half || fp16;
    }
    static bool answer(const char* question) {
        const auto asked = c10::Dispatcher::singleton().findSchema({question, ""});
        return asked && asked->typed<bool()>().call();
    }

    bool before_;
};

}  // namespace hpo::torch
