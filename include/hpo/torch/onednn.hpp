// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>

namespace hpo::torch {

/// Whether LibTorch gives tensors of the type to oneDNN on this processor, as LibTorch decides it: fp32 wherever there is oneDNN; of bf16
/// and fp16 it can be asked from version 2 on, before bf16 took AVX-512's BW, VL and DQ, and there was no fp16. No other floating type.
[[nodiscard]] bool onednn_has(c10::ScalarType type);

/// The most bytes that oneDNN takes in each thread beside the tensors, for `count` products of 16 bits: [rows, inner] by [inner, columns].
///
/// It packs blocks of both factors and adds up in fp32. The bound was held against 20,500 products of 1 to 4,096 rows, columns and inner
/// lengths. They had three layouts and one to three threads (LibTorch 1.13 and 2.11, AVX-512). What was taken is 2 to 99 % of it.
[[nodiscard]] std::int64_t onednn_product_scratch(std::int64_t count, std::int64_t rows, std::int64_t columns, std::int64_t inner);

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

#ifndef HPO_COMPILED
#include "hpo/torch/impl/onednn_inl.hpp"
#endif
