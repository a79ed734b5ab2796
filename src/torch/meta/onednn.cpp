// SPDX-License-Identifier: MIT
#include "hpo/torch/meta/onednn.hpp"

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <algorithm>
#include <cstdint>

namespace hpo::libtorch {

bool onednn_has(c10::ScalarType type) {
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

std::int64_t onednn_product_scratch(std::int64_t count, std::int64_t rows, std::int64_t columns, std::int64_t inner) {
    constexpr std::int64_t smallest = 16 * 16 * 16;  // LibTorch multiplies smaller ones itself
    if (count * rows * columns * inner <= smallest) return 0;
    const auto whole_lines = [](std::int64_t length) { return (length + 63) / 64 * 64; };
    const std::int64_t packed_rows = std::min<std::int64_t>(rows, 256);
    const std::int64_t packed_inner = std::min<std::int64_t>(whole_lines(inner), 1024) + 32;
    const std::int64_t left = 2 * packed_rows * std::min<std::int64_t>(packed_inner, 544);
    const std::int64_t right = 2 * 64 * packed_inner;
    const std::int64_t sums = 4 * packed_rows * std::min<std::int64_t>(whole_lines(columns), 1024);
    return left + right + sums + 1024;
}

}  // namespace hpo::libtorch
