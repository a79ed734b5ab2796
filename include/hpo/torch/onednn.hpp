// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <cstdint>

namespace hpo::torch {

/// Whether LibTorch gives tensors of the type to oneDNN on this processor, as LibTorch decides it: fp32 wherever there is oneDNN; of bf16
/// and fp16 it can be asked from version 2 on, before bf16 took AVX-512's BW, VL and DQ, and there was no fp16. No other floating type.
[[nodiscard]] inline bool onednn_has(c10::ScalarType type) {
    if (type != c10::ScalarType::BFloat16 && type != c10::ScalarType::Half) return type == c10::ScalarType::Float && at::hasMKLDNN();
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

/// The most bytes that oneDNN takes in each thread beside the tensors, for `count` products of 16 bits: [rows, inner] by [inner, columns].
///
/// It packs blocks of both factors and adds up in fp32. The bound was held against 20,500 products of 1 to 4,096 rows, columns and inner
/// lengths. They had three layouts and one to three threads (LibTorch 1.13 and 2.11, AVX-512). What was taken is 2 to 99 % of it.
[[nodiscard]] inline std::int64_t onednn_product_scratch(std::int64_t count, std::int64_t rows, std::int64_t columns, std::int64_t inner) {
    constexpr std::int64_t smallest = 16 * 16 * 16;  // what is smaller LibTorch multiplies itself
    if (count * rows * columns * inner <= smallest) return 0;
    const auto whole_lines = [](std::int64_t length) { return (length + 63) / 64 * 64; };
    const std::int64_t packed_rows = std::min<std::int64_t>(rows, 256);
    const std::int64_t packed_inner = std::min<std::int64_t>(whole_lines(inner), 1024) + 32;
    const std::int64_t left = 2 * packed_rows * std::min<std::int64_t>(packed_inner, 544);
    const std::int64_t right = 2 * 64 * packed_inner;
    const std::int64_t sums = 4 * packed_rows * std::min<std::int64_t>(whole_lines(columns), 1024);
    return left + right + sums + 1024;
}

/// While it lives, LibTorch leaves nothing to oneDNN where this processor's oneDNN has not the type that autocast casts to: autocast hands
/// it an LSTM all the same, and that is an error (seen with 2.11 on a processor without AVX-512). LibTorch's own kernels take its place.
/// An fp32 region inside of it computes without oneDNN, too.
/// Thread safety: one thread of the process at a time. What others compute meanwhile is computed without oneDNN.
class OneDnnWhereItCasts {
public:
    /// For a region that casts to `type` on devices of the kind `kind`.
    OneDnnWhereItCasts(c10::DeviceType kind, c10::ScalarType type)
        : turned_off_{kind == c10::DeviceType::CPU && at::globalContext().userEnabledMkldnn() && !onednn_has(type)} {
        if (turned_off_) at::globalContext().setUserEnabledMkldnn(false);
    }
    ~OneDnnWhereItCasts() {
        if (turned_off_) at::globalContext().setUserEnabledMkldnn(true);
    }
    OneDnnWhereItCasts(const OneDnnWhereItCasts&) = delete;
    OneDnnWhereItCasts& operator=(const OneDnnWhereItCasts&) = delete;

private:
    bool turned_off_;
};

}  // namespace hpo::torch
