// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/autocast_mode.h>
#include <c10/core/Device.h>
#include <torch/version.h>

#include <optional>

#include "hpo/core/plan.hpp"
#include "hpo/torch/onednn.hpp"

namespace hpo::torch {

/// Whether, and to what, LibTorch casts what this thread computes on a kind of device. The CPU's is also that of the meta device
/// (meta_autocast.hpp).
struct AutocastState {
    bool enabled = false;
    c10::ScalarType type = c10::ScalarType::BFloat16;

    [[nodiscard]] static AutocastState of(c10::DeviceType kind);
    void apply_to(c10::DeviceType kind) const;
};

/// While it lives, this thread computes matrix products and convolutions on a kind of device in another type; weights stay what they
/// are, and are cast once in the outermost of nested regions. Gradients must be asked for outside of it. Where this processor's oneDNN has
/// not the type, no thread is given oneDNN meanwhile (onednn.hpp).
class Autocast {
public:
    Autocast(c10::DeviceType kind, AutocastState state);
    Autocast(c10::Device device, Precision precision) : Autocast{device.type(), state_for(device, precision)} {}
    ~Autocast();
    Autocast(const Autocast&) = delete;
    Autocast& operator=(const Autocast&) = delete;

private:
    static AutocastState state_for(c10::Device device, Precision precision);

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

#ifndef HPO_COMPILED
#include "hpo/torch/impl/autocast_inl.hpp"
#endif
