// SPDX-License-Identifier: MIT
#include "torch/training/adafactor.hpp"

#include <torch/torch.h>
#include <cmath>
#include <memory>

namespace hpo::libtorch {

void AdafactorOptions::serialize(torch::serialize::InputArchive& archive) {
    c10::IValue value;
    archive.read("lr", value);
    lr = value.toDouble();
    archive.read("weight_decay", value);
    weight_decay = value.toDouble();
}

void AdafactorState::serialize(torch::serialize::OutputArchive& archive) const {
    archive.write("step", c10::IValue{step});
    if (rows.defined()) archive.write("rows", rows, /*is_buffer=*/true);
    if (columns.defined()) archive.write("columns", columns, /*is_buffer=*/true);
    if (whole.defined()) archive.write("whole", whole, /*is_buffer=*/true);
}

void AdafactorState::serialize(torch::serialize::InputArchive& archive) {
    c10::IValue value;
    archive.read("step", value);
    step = value.toInt();
    static_cast<void>(archive.try_read("rows", rows, /*is_buffer=*/true));
    static_cast<void>(archive.try_read("columns", columns, /*is_buffer=*/true));
    static_cast<void>(archive.try_read("whole", whole, /*is_buffer=*/true));
}

torch::Tensor Adafactor::step(LossClosure closure) {
    torch::Tensor loss;
    if (closure) {
        const torch::AutoGradMode with_gradients{true};
        loss = closure();
    }
    const torch::NoGradGuard no_gradients;
    for (auto& group : param_groups()) {
        const auto& options = static_cast<const AdafactorOptions&>(group.options());
        for (torch::Tensor& parameter : group.params()) {
            if (parameter.grad().defined()) update(parameter, options);
        }
    }
    return loss;
}

void Adafactor::update(torch::Tensor& parameter, const AdafactorOptions& options) {
    auto& place = place_of(this->state(), parameter);
    if (!place) place = std::make_unique<AdafactorState>();
    auto& state = static_cast<AdafactorState&>(*place);
    const double decay = 1 - std::pow(static_cast<double>(++state.step), -0.8);
    torch::Tensor gradient = parameter.grad();
    if (parameter.dim() > 2) gradient = gradient.flatten(1);
    torch::Tensor change = gradient.square().add_(epsilon_square);
    if (gradient.dim() == 2) {
        state.rows = moving(state.rows, change.mean(1), decay);
        state.columns = moving(state.columns, change.mean(0), decay);
        change = torch::outer((state.rows / state.rows.mean()).rsqrt(), state.columns.rsqrt()).mul_(gradient);
    } else {
        state.whole = moving(state.whole, change, decay);
        change = gradient / state.whole.sqrt();
    }
    const torch::Tensor excess = (root_mean_square(change) / clip).clamp_min(1);
    const torch::Tensor rate = root_mean_square(parameter).clamp_min(least_scale) * options.lr / excess;
    if (options.weight_decay > 0) parameter.mul_(1 - options.lr * options.weight_decay);
    parameter.sub_(change.mul_(rate).view_as(parameter));
}

}  // namespace hpo::libtorch
