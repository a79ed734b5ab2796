// SPDX-License-Identifier: MIT
#include "hpo/torch/training/step.hpp"

#include <torch/torch.h>
#include <cmath>
#include <string>
#include <string_view>
#include <unordered_set>

#include "hpo/core/value.hpp"
#include "hpo/torch/recording/value_reads.hpp"
#include "torch/adaptation/model_parts.hpp"
#include "torch/training/finish_gradients.hpp"

namespace hpo::libtorch {

Outputs TrainingStep::forward(const Batch& batch) {
    Outputs outputs = in_precision([&] { return context_.model.forward(batch); });
    if (context_.task.classes()) check_logits(outputs[0], batch, *context_.task.classes());
    return outputs;
}

double TrainingStep::backward(torch::Tensor loss_sum) {
    if (!loss_sum.defined()) throw Error{Errc::plugin, "the loss is not defined; expected one number"};
    if (loss_sum.numel() != 1 || !loss_sum.requires_grad()) {
        throw Error{Errc::plugin, loss_sum.numel() != 1 ? "the loss has shape " + shape_text(loss_sum) + "; expected one number"
                                                        : std::string{"the loss has no gradient: nothing that learns is part of it"}};
    }
    const torch::Tensor loss = loss_sum / static_cast<double>(context_.examples);
    loss_sum.reset();
    const double value = [&] {
        const HarmlessReads of_the_loss;
        return loss.item<double>();
    }();
    check_loss(value, "in training, at step " + std::to_string(context_.number));
    context_.attempt.sample(context_.number);  // the activations are still in memory here
    context_.attempt.enter("backward");
    const double scale = context_.loss_scale.factor();
    (scale == 1 ? loss : loss * scale).backward();
    unused_gradients_ = true;
    return value;
}

void TrainingStep::update(std::string_view part, double rate_factor) {
    if (!unused_gradients_)
        throw Error{Errc::plugin, "update: no gradients came since the last one; expected a call of step.backward first"};
    if (!std::isfinite(rate_factor) || rate_factor < 0)
        throw Error{Errc::plugin, "update: got a rate factor of " + number_text(rate_factor) + "; expected a number of at least 0"};
    if (!part.empty()) keep_gradients_of(part);
    if (context_.before_update) context_.before_update();
    context_.attempt.enter(context_.task.has_own_step() ? "update" : "step");
    context_.optimizer.set_learning_rate(context_.learning_rate * rate_factor);
    if (finish_gradients(context_.optimizer, context_.loss_scale, context_.clip_norm)) context_.optimizer.step();
    context_.model.zero_grad(/*set_to_none=*/true);
    unused_gradients_ = false;
    ++updates_;
}

void TrainingStep::end_own(double loss) {
    context_.attempt.enter("step");  // it ends each step of a trace
    if (!made_a_pass_) throw Error{Errc::plugin, "training_step took no batch; expected a call of step.each_micro_batch"};
    if (updates_ == 0) throw Error{Errc::plugin, "training_step updated nothing; expected a call of step.update"};
    if (unused_gradients_) {
        throw Error{Errc::plugin,
                    "training_step ends with gradients that no update used; expected a call of step.update after the last backward"};
    }
    context_.model.zero_grad(/*set_to_none=*/true);  // drops what calls of a tensor's own backward() left
    check_loss(loss, "in training, at step " + std::to_string(context_.number));
}

void TrainingStep::explain_loss(const Batch& batch, std::size_t index) const {
    if (context_.task.batch_rules().finite_inputs) check_finite(batch, context_.loader.place(index));
}

void TrainingStep::keep_gradients_of(std::string_view part) {
    bool known = false;
    bool learns = false;
    bool any = false;
    std::unordered_set<const void*> kept;  // a parameter may have several names
    const auto parameters = context_.model.named_parameters();
    for (const auto& parameter : parameters) {
        if (!lies_in(parameter.key(), part)) continue;
        known = true;
        learns = learns || parameter.value().requires_grad();
        any = any || parameter.value().grad().defined();
        kept.insert(parameter.value().unsafeGetTensorImpl());
    }
    for (const auto& parameter : parameters) {
        torch::Tensor other = parameter.value();
        if (!kept.contains(other.unsafeGetTensorImpl())) other.mutable_grad().reset();
    }
    if (any) return;
    const std::string name = "update(\"" + std::string{part} + "\"): ";
    if (known && !learns) throw Error{Errc::plugin, name + "no parameter of it learns: it is frozen"};
    if (known) throw Error{Errc::plugin, name + "no parameter of it has a gradient; expected a backward pass through it first"};
    std::string children;
    for (const auto& child : context_.model.named_children()) children += (children.empty() ? "" : ", ") + child.key();
    throw Error{Errc::plugin, name + "the model has no such part; its parts: " + children};
}

double accumulate_gradients(const Task& task, TrainingStep& step) {
    double loss = 0;
    step.each_micro_batch([&](const Batch& batch) {
        const Outputs outputs = step.forward(batch);
        loss += step.backward(task.loss_sum(outputs, batch));
    });
    return loss;
}

double plain_step(const Task& task, TrainingStep& step) {
    const double loss = accumulate_gradients(task, step);
    step.update();
    return loss;
}

}  // namespace hpo::libtorch
