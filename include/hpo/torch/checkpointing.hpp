// SPDX-License-Identifier: MIT
#pragma once

#include <torch/custom_class.h>
#include <torch/torch.h>

#include <functional>
#include <mutex>
#include <utility>

namespace hpo::libtorch {

/// A part of a model that takes one tensor and returns one.
using Segment = std::function<torch::Tensor(const torch::Tensor&)>;

/// The state of a device's random generator when the object was made.
class RandomState {
public:
    explicit RandomState(torch::Device device) : generator_{generator_of(device)}, state_{current()} {}
    RandomState(torch::Device device, torch::Tensor state) : generator_{generator_of(device)}, state_{std::move(state)} {}

    [[nodiscard]] const torch::Tensor& tensor() const { return state_; }
    void restore() {
        const std::lock_guard lock{generator_.mutex()};
        generator_.set_state(state_);
    }

private:
    /// The meta device draws no numbers. The CPU's generator stands in for its own.
    static const at::Generator& generator_of(torch::Device device) {
        return at::globalContext().defaultGenerator(device.is_meta() ? torch::Device{torch::kCPU} : device);
    }
    [[nodiscard]] torch::Tensor current() {
        const std::lock_guard lock{generator_.mutex()};
        return generator_.get_state();
    }

    at::Generator generator_;
    torch::Tensor state_;
};

/// Autograd's node for a segment that the backward pass computes again. Use it through `recomputed`.
class RecomputedSegment : public torch::autograd::Function<RecomputedSegment> {
public:
    struct Holder : torch::CustomClassHolder {
        explicit Holder(Segment held) : segment{std::move(held)} {}
        Segment segment;
    };

    static torch::Tensor forward(torch::autograd::AutogradContext* context, torch::Tensor input, torch::Tensor /*anchor*/,
                                 c10::intrusive_ptr<Holder> holder);

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, torch::autograd::variable_list gradients);
};

/// `segment(input)`, without keeping its intermediate tensors. The backward pass computes them again, with the same random numbers and the
/// same autocast. The gradients are the same, at the price of a second forward pass. They are equal to the last bit for a parameter that
/// one segment uses. Gradients of parameters that segments share are summed in another order.
[[nodiscard]] torch::Tensor recomputed(const Segment& segment, const torch::Tensor& input);

/// The same for a segment whose parameters are those of `module`. If no backward pass will reach the segment, no tensor is kept or computed
/// again: that is, if neither these parameters nor anything before the segment learns.
[[nodiscard]] torch::Tensor recomputed(const torch::nn::Module& module, const Segment& segment, const torch::Tensor& input);

}  // namespace hpo::libtorch
