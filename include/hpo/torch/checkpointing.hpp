// SPDX-License-Identifier: MIT
#pragma once

#include <torch/custom_class.h>
#include <torch/torch.h>

#include <functional>
#include <mutex>
#include <utility>

namespace hpo::torch {

/// A part of a model: one tensor in, one tensor out.
using Segment = std::function<::torch::Tensor(const ::torch::Tensor&)>;

/// The state of a device's random numbers, as it was when the object was made.
class RandomState {
public:
    explicit RandomState(::torch::Device device) : generator_{generator_of(device)}, state_{current()} {}
    RandomState(::torch::Device device, ::torch::Tensor state) : generator_{generator_of(device)}, state_{std::move(state)} {}

    [[nodiscard]] const ::torch::Tensor& tensor() const { return state_; }
    void restore() {
        const std::lock_guard lock{generator_.mutex()};
        generator_.set_state(state_);
    }

private:
    /// The meta device draws nothing: there the CPU's stands in.
    static const at::Generator& generator_of(::torch::Device device) {
        return at::globalContext().defaultGenerator(device.is_meta() ? ::torch::Device{::torch::kCPU} : device);
    }
    [[nodiscard]] ::torch::Tensor current() {
        const std::lock_guard lock{generator_.mutex()};
        return generator_.get_state();
    }

    at::Generator generator_;
    ::torch::Tensor state_;
};

/// autograd's node for a segment that is computed again in the backward pass. Used through `recomputed`.
class RecomputedSegment : public ::torch::autograd::Function<RecomputedSegment> {
public:
    struct Holder : ::torch::CustomClassHolder {
        explicit Holder(Segment held) : segment{std::move(held)} {}
        Segment segment;
    };

    static ::torch::Tensor forward(::torch::autograd::AutogradContext* context, ::torch::Tensor input, ::torch::Tensor /*anchor*/,
                                   c10::intrusive_ptr<Holder> holder);

    static ::torch::autograd::variable_list backward(::torch::autograd::AutogradContext* context,
                                                     ::torch::autograd::variable_list gradients);
};

/// `segment(input)`, whose intermediate tensors are not kept for the backward pass but computed again there, with the
/// same random numbers and under the same autocast: gradients are the same, at the price of a second forward pass. To the last bit for a
/// parameter of one segment; those that segments share are added up in another order.
[[nodiscard]] ::torch::Tensor recomputed(const Segment& segment, const ::torch::Tensor& input);

/// The same for a segment whose parameters are `module`'s. Where neither they nor anything below them learns, nothing is kept or computed
/// again: there is no backward pass.
[[nodiscard]] ::torch::Tensor recomputed(const ::torch::nn::Module& module, const Segment& segment, const ::torch::Tensor& input);

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/checkpointing_inl.hpp"
#endif
