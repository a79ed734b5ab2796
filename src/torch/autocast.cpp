// SPDX-License-Identifier: MIT
#include "hpo/torch/autocast.hpp"

#include <ATen/autocast_mode.h>
#include <c10/core/Device.h>
#include <torch/version.h>

#include "torch/meta/casts.hpp"

namespace hpo::libtorch {

AutocastState AutocastState::of(c10::DeviceType kind) {
    if (kind == c10::DeviceType::Meta) kind = c10::DeviceType::CPU;
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
    return {at::autocast::is_autocast_enabled(kind), at::autocast::get_autocast_dtype(kind)};
#else
    if (kind == c10::DeviceType::CPU) return {at::autocast::is_cpu_enabled(), at::autocast::get_autocast_cpu_dtype()};
    return {at::autocast::is_enabled(), at::autocast::get_autocast_gpu_dtype()};
#endif
}

void AutocastState::apply_to(c10::DeviceType kind) const {
    if (kind == c10::DeviceType::Meta) kind = c10::DeviceType::CPU;
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
    at::autocast::set_autocast_enabled(kind, enabled);
    at::autocast::set_autocast_dtype(kind, type);
#else
    if (kind == c10::DeviceType::CPU) {
        at::autocast::set_cpu_enabled(enabled);
        at::autocast::set_autocast_cpu_dtype(type);
    } else {
        at::autocast::set_enabled(enabled);
        at::autocast::set_autocast_gpu_dtype(type);
    }
#endif
}

Autocast::Autocast(c10::DeviceType kind, AutocastState state) : kind_{kind}, before_{AutocastState::of(kind)} {
    if (state.enabled) onednn_.emplace(kind, state.type);
    at::autocast::increment_nesting();
    state.apply_to(kind_);
}

Autocast::~Autocast() {
    if (at::autocast::decrement_nesting() == 0) {
        at::autocast::clear_cache();
        MetaCasts::forget();
    }
    before_.apply_to(kind_);
}

AutocastState Autocast::state_for(c10::Device device, Precision precision) {
    switch (precision) {
        case Precision::bf16: return {true, c10::ScalarType::BFloat16};
        case Precision::fp16: return {true, c10::ScalarType::Half};
        case Precision::fp32: break;
    }
    return {false, AutocastState::of(device.type()).type};
}

}  // namespace hpo::libtorch
