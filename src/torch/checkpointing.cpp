// SPDX-License-Identifier: MIT
#include "hpo/torch/checkpointing.hpp"

#include <torch/custom_class.h>
#include <torch/torch.h>

#include "hpo/torch/autocast.hpp"
#include "torch/adaptation/model_parts.hpp"

namespace hpo::libtorch {

torch::Tensor RecomputedSegment::forward(torch::autograd::AutogradContext* context, torch::Tensor input, torch::Tensor /*anchor*/,
                                         c10::intrusive_ptr<Holder> holder) {
    context->saved_data["random"] = RandomState{input.device()}.tensor();
    context->saved_data["input_learns"] = input.requires_grad();
    const AutocastState autocast = AutocastState::of(input.device().type());
    context->saved_data["autocast"] = autocast.enabled;
    context->saved_data["autocast_type"] = autocast.type;
    context->saved_data["segment"] = c10::IValue::make_capsule(holder);
    context->save_for_backward({input});
    const torch::NoGradGuard no_gradients;
    const NoAutocastCache cast_here_only;  // the cache must not give weights cast without gradients to code that needs gradients
    return holder->segment(input);
}

torch::autograd::variable_list RecomputedSegment::backward(torch::autograd::AutogradContext* context,
                                                           torch::autograd::variable_list gradients) {
    const auto holder = context->saved_data["segment"].toCapsule();
    const Segment& segment = static_cast<const Holder&>(*holder).segment;
    const bool input_learns = context->saved_data["input_learns"].toBool();
    const torch::Tensor input = context->get_saved_variables()[0].detach().requires_grad_(input_learns);
    torch::Tensor output;
    {
        struct Restore {
            RandomState later;
            ~Restore() { later.restore(); }
        } restore{RandomState{input.device()}};
        RandomState{input.device(), context->saved_data["random"].toTensor()}.restore();
        const torch::AutoGradMode with_gradients{true};
        const Autocast autocast{input.device().type(),
                                {context->saved_data["autocast"].toBool(), context->saved_data["autocast_type"].toScalarType()}};
        const NoAutocastCache cast_as_before;  // the cache would treat the input as a weight, and round the sum of its gradients
        output = segment(input);
    }
    torch::autograd::backward({output}, {gradients[0]});
    return {input_learns ? input.grad() : torch::Tensor{}, torch::Tensor{}, torch::Tensor{}};
}

torch::Tensor recomputed(const Segment& segment, const torch::Tensor& input) {
    if (!torch::GradMode::is_enabled()) return segment(input);
    // The anchor makes autograd call the node even if the input (a batch) needs no gradient.
    const torch::Tensor anchor = torch::empty({0}, torch::requires_grad());
    return RecomputedSegment::apply(input, anchor, c10::make_intrusive<RecomputedSegment::Holder>(segment));
}

torch::Tensor recomputed(const torch::nn::Module& module, const Segment& segment, const torch::Tensor& input) {
    return input.requires_grad() || learns(module) ? recomputed(segment, input) : segment(input);
}

}  // namespace hpo::libtorch
