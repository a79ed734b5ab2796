// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>

namespace hpo::libtorch {

/// Whether LibTorch gives tensors of this type to oneDNN on this processor. It follows LibTorch's own decision. fp32 is true if oneDNN is
/// there. For bf16 and fp16, LibTorch is asked from version 2 on. Before that, bf16 took AVX-512's BW, VL and DQ, and fp16 was not there.
/// All other floating types are false.
[[nodiscard]] bool onednn_has(c10::ScalarType type);

/// The most bytes that each thread of oneDNN takes beside the tensors, for `count` products of 16 bits: [rows, inner] by [inner, columns].
///
/// It packs blocks of both factors and adds up in fp32. The bound was compared with 20,500 products of 1 to 4,096 rows, columns and inner
/// lengths. They had three layouts and one to three threads (LibTorch 1.13 and 2.11, AVX-512). They took 2 to 99 % of the bound.
[[nodiscard]] std::int64_t onednn_product_scratch(std::int64_t count, std::int64_t rows, std::int64_t columns, std::int64_t inner);

/// While it lives, LibTorch computes without oneDNN if this processor's oneDNN lacks autocast's type. Autocast would still give it an LSTM,
/// which fails (seen with 2.11 on a processor without AVX-512). LibTorch's own kernels are used instead. An fp32 region inside of it
/// computes without oneDNN, too.
///
/// Thread safety: only one thread of the process at a time. Other threads compute without oneDNN meanwhile.
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

}  // namespace hpo::libtorch
