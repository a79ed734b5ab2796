// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/autocast_mode.h>
#include <c10/core/Device.h>
#include <torch/version.h>

#include <optional>

#include "hpo/core/plan.hpp"
#include "hpo/torch/meta_casts.hpp"
#include "hpo/torch/onednn.hpp"

namespace hpo::torch {

/// Whether, and to what, LibTorch casts what this thread computes on a kind of device. The CPU's is also that of the meta device
/// (meta_autocast.hpp).
struct AutocastState {
    bool enabled = false;
    c10::ScalarType type = c10::ScalarType::BFloat16;

    [[nodiscard]] static AutocastState of(c10::DeviceType kind) {
        if (kind == c10::DeviceType::Meta) kind = c10::DeviceType::CPU;
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
        return {at::autocast::is_autocast_enabled(kind), at::autocast::get_autocast_dtype(kind)};
#else
        if (kind == c10::DeviceType::CPU) return {at::autocast::is_cpu_enabled(), at::autocast::get_autocast_cpu_dtype()};
        return {at::autocast::is_enabled(), at::autocast::get_autocast_gpu_dtype()};
#endif
    }
    void apply_to(c10::DeviceType kind) const {
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
};

/// While it lives, this thread computes matrix products and convolutions on a kind of device in another type; weights stay what they
/// are, and are cast once in the outermost of nested regions. Gradients must be asked for outside of it. Where this processor's oneDNN has
/// not the type, no thread is given oneDNN meanwhile (onednn.hpp).
class Autocast {
public:
    Autocast(c10::DeviceType kind, AutocastState state) : kind_{kind}, before_{AutocastState::of(kind)} {
        if (state.enabled) onednn_.emplace(kind, state.type);
        at::autocast::increment_nesting();
        state.apply_to(kind_);
    }
    Autocast(c10::Device device, Precision precision) : Autocast{device.type(), state_for(device, precision)} {}
    ~Autocast() {
        if (at::autocast::decrement_nesting() == 0) {
            at::autocast::clear_cache();
            MetaCasts::forget();
        }
        before_.apply_to(kind_);
    }
    Autocast(const Autocast&) = delete;
    Autocast& operator=(const Autocast&) = delete;

private:
    static AutocastState state_for(c10::Device device, Precision precision) {
        switch (precision) {
            case Precision::bf16: return {true, c10::ScalarType::BFloat16};
            case Precision::fp16: return {true, c10::ScalarType::Half};
            case Precision::fp32: break;
        }
        return {false, AutocastState::of(device.type()).type};
    }

    c10::DeviceType kind_;
    AutocastState before_;
    std::optional<OneDnnWhereItCasts> onednn_;
};

/// While it lives, weights are cast each time they are used.
class NoAutocastCache {
public:
    NoAutocastCache() : before_{at::autocast::is_autocast_cache_enabled()} { at::autocast::set_autocast_cache_enabled(false); }
    ~NoAutocastCache() { at::autocast::set_autocast_cache_enabled(before_); }
    NoAutocastCache(const NoAutocastCache&) = delete;
    NoAutocastCache& operator=(const NoAutocastCache&) = delete;

private:
    bool before_;
};

}  // namespace hpo::torch
