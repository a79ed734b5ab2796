// SPDX-License-Identifier: MIT
#pragma once

#include <torch/custom_class.h>
#include <torch/torch.h>

#include <functional>
#include <mutex>
#include <utility>

#include "hpo/torch/autocast.hpp"
#include "hpo/torch/model_parts.hpp"

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
                                   c10::intrusive_ptr<Holder> holder) {
        context->saved_data["random"] = RandomState{input.device()}.tensor();
        context->saved_data["input_learns"] = input.requires_grad();
        const AutocastState autocast = AutocastState::of(input.device().type());
        context->saved_data["autocast"] = autocast.enabled;
        context->saved_data["autocast_type"] = autocast.type;
        context->saved_data["segment"] = c10::IValue::make_capsule(holder);
        context->save_for_backward({input});
        const ::torch::NoGradGuard no_gradients;
        const NoAutocastCache cast_here_only;  // what is cast without gradients must not be found by what has them
        return holder->segment(input);
    }

    static ::torch::autograd::variable_list backward(::torch::autograd::AutogradContext* context,
                                                     ::torch::autograd::variable_list gradients) {
        const auto holder = context->saved_data["segment"].toCapsule();
        const Segment& segment = static_cast<const Holder&>(*holder).segment;
        const bool input_learns = context->saved_data["input_learns"].toBool();
        const ::torch::Tensor input = context->get_saved_variables()[0].detach().requires_grad_(input_learns);
        ::torch::Tensor output;
        {
            struct Restore {
                RandomState later;
                ~Restore() { later.restore(); }
            } restore{RandomState{input.device()}};
            RandomState{input.device(), context->saved_data["random"].toTensor()}.restore();
            const ::torch::AutoGradMode with_gradients{true};
            const Autocast autocast{input.device().type(),
                                    {context->saved_data["autocast"].toBool(), context->saved_data["autocast_type"].toScalarType()}};
            const NoAutocastCache cast_as_before;  // the cache would take the input for a weight, and round where its gradients meet
            output = segment(input);
        }
        ::torch::autograd::backward({output}, {gradients[0]});
        return {input_learns ? input.grad() : ::torch::Tensor{}, ::torch::Tensor{}, ::torch::Tensor{}};
    }
};

/// `segment(input)`, whose intermediate tensors are not kept for the backward pass but computed again there, with the
/// same random numbers and under the same autocast: gradients are the same, at the price of a second forward pass. To the last bit for a
/// parameter of one segment; those that segments share are added up in another order.
[[nodiscard]] inline ::torch::Tensor recomputed(const Segment& segment, const ::torch::Tensor& input) {
    if (!::torch::GradMode::is_enabled()) return segment(input);
    // The anchor makes autograd call the node although the input (a batch) may need no gradient.
    const ::torch::Tensor anchor = ::torch::empty({0}, ::torch::requires_grad());
    return RecomputedSegment::apply(input, anchor, c10::make_intrusive<RecomputedSegment::Holder>(segment));
}

/// The same for a segment whose parameters are `module`'s. Where neither they nor anything below them learns, nothing is kept or computed
/// again: there is no backward pass.
[[nodiscard]] inline ::torch::Tensor recomputed(const ::torch::nn::Module& module, const Segment& segment, const ::torch::Tensor& input) {
    return input.requires_grad() || learns(module) ? recomputed(segment, input) : segment(input);
}

}  // namespace hpo::torch
