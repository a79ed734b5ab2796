// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/autocast_mode.h>
#include <c10/core/Device.h>
#include <torch/version.h>

#include <optional>

#include "hpo/core/plan.hpp"
#include "hpo/torch/meta/onednn.hpp"

namespace hpo::libtorch {

/// Whether LibTorch casts what this thread computes on a kind of device, and to which type. The meta device shares the CPU's state
/// (meta/autocast.hpp).
struct AutocastState {
    bool enabled = false;
    c10::ScalarType type = c10::ScalarType::BFloat16;

    [[nodiscard]] static AutocastState of(c10::DeviceType kind);
    void apply_to(c10::DeviceType kind) const;
};

/// While it lives, this thread computes matrix products and convolutions on a kind of device in another type. The weights keep their type.
/// A weight is cast once until the outermost of nested regions ends. Compute gradients outside of the region. If this processor's oneDNN
/// lacks the type, no thread uses oneDNN meanwhile (meta/onednn.hpp).
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

}  // namespace hpo::libtorch
