// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

namespace hpo::torch {

/// Whether LibTorch gives tensors of the type to oneDNN on this processor, as LibTorch decides it: from version 2 on it can be asked;
/// before, bf16 took AVX-512's BW, VL and DQ, and there was no fp16.
[[nodiscard]] inline bool onednn_has(c10::ScalarType type) {
    if (type != c10::ScalarType::BFloat16 && type != c10::ScalarType::Half) return at::hasMKLDNN();
    const auto answer = [](const char* question, bool otherwise) {
        const auto asked = c10::Dispatcher::singleton().findSchema({question, ""});
        return at::hasMKLDNN() && (asked ? asked->typed<bool()>().call() : otherwise);
    };
#if defined(__x86_64__)
    static const bool avx512 =
        __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0;
#else
    static const bool avx512 = false;
#endif
    static const bool bf16 = answer("mkldnn::_is_mkldnn_bf16_supported", avx512);
    static const bool fp16 = answer("mkldnn::_is_mkldnn_fp16_supported", false);
    return type == c10::ScalarType::BFloat16 ? bf16 : fp16;
}

/// While it lives, LibTorch leaves nothing to oneDNN where this processor's oneDNN has not the type that autocast casts to: autocast hands
/// it an LSTM all the same, and that is an error (seen with 2.11 on a processor without AVX-512). LibTorch's own kernels take its place.
/// Holds for the process, not for a thread alone.
class OneDnnWhereItCasts {
public:
    /// For a region that casts to `type` on devices of the kind `kind`.
    OneDnnWhereItCasts(c10::DeviceType kind, c10::ScalarType type) : before_{at::globalContext().userEnabledMkldnn()} {
        if (kind == c10::DeviceType::CPU && before_ && !onednn_has(type)) at::globalContext().setUserEnabledMkldnn(false);
    }
    ~OneDnnWhereItCasts() { at::globalContext().setUserEnabledMkldnn(before_); }
    OneDnnWhereItCasts(const OneDnnWhereItCasts&) = delete;
    OneDnnWhereItCasts& operator=(const OneDnnWhereItCasts&) = delete;

private:
    bool before_;
};

}  // namespace hpo::torch
