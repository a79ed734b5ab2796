// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "hpo/core/error.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/core/value.hpp"
#include "hpo/torch/attempt.hpp"
#include "hpo/torch/autocast.hpp"
#include "hpo/torch/batch_checks.hpp"
#include "hpo/torch/batch_loader.hpp"
#include "hpo/torch/finish_gradients.hpp"
#include "hpo/torch/loss_scale.hpp"
#include "hpo/torch/model_parts.hpp"
#include "hpo/torch/optimizer.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/value_reads.hpp"

namespace hpo::torch {

/// What a training step works on.
struct StepContext {
    const Task& task;
    Model& model;
    BatchLoader& loader;  ///< stands at the step's first micro-batch
    Optimizer& optimizer;
    LossScale& loss_scale;
    RunningAttempt& attempt;
    std::int64_t examples = 1;  ///< over all the step's micro-batches
    std::int64_t number = 1;    ///< of the training's steps
    Precision precision = Precision::fp32;
    double learning_rate = 1e-3;
    double clip_norm = 0;                   ///< as TrainingPlan::clip_norm
    std::function<void()> before_update{};  ///< called before each update, the gradients being there
};

/// One step of a training, in the hands of the loop or of a task with a step of its own: passes over the step's micro-batches, gradients,
/// updates. Phases, memory marks, stops, autocast, the loss scale and clipping are taken care of.
///
/// Thread safety: the attempt's thread.
class TrainingStep {
public:
    /// Thrown when somebody asked the attempt to end. Inside torch/ only: a task lets it pass.
    struct Stopped {};

    explicit TrainingStep(const StepContext& context) : context_{context}, first_batch_{context.loader.position()} {}

    /// The model that is trained. Throws Error when it is not a `Kind`.
    template <class Kind = Model>
    [[nodiscard]] Kind& model() const {
        if (auto* model = dynamic_cast<Kind*>(&context_.model)) return *model;
        throw Error{Errc::plugin, "the training step asks for another type of model than the task builds"};
    }
    [[nodiscard]] ::torch::Device device() const { return context_.attempt.device(); }
    [[nodiscard]] std::int64_t examples() const { return context_.examples; }  ///< over all micro-batches
    [[nodiscard]] std::int64_t number() const { return context_.number; }      ///< of the training's steps, from 1

    /// Calls work(batch) for each micro-batch of the step. A further pass in the same step gives the same batches again.
    template <class Work>
    void each_micro_batch(const Work& work) {
        std::int64_t seen = 0;
        for (std::size_t index = first_batch_; seen < context_.examples; ++index) {
            if (context_.attempt.stop_requested()) throw Stopped{};
            context_.attempt.enter("batch");
            const Batch batch = index < context_.loader.position() ? context_.loader.again(index) : context_.loader.next();
            seen += batch.examples();
            if (context_.task.classes()) check_labels(batch.targets, *context_.task.classes());
            context_.attempt.enter("forward");
            work(batch);
        }
        made_a_pass_ = true;
    }

    /// What pass() returns, which is a tensor or Outputs, computed in the plan's precision and then made fp32. Losses are computed from
    /// that.
    template <class Pass>
    [[nodiscard]] Outputs in_precision(const Pass& pass) {
        context_.attempt.enter("forward");
        const Outputs outputs = [&]() -> Outputs {
            const Autocast precision{device(), context_.precision};
            return pass();
        }();
        return context_.precision == Precision::fp32 ? outputs : outputs.in_fp32();
    }
    /// The model's outputs, likewise.
    [[nodiscard]] Outputs forward(const Batch& batch) {
        Outputs outputs = in_precision([&] { return context_.model.forward(batch); });
        if (context_.task.classes()) check_logits(outputs[0], batch, *context_.task.classes());
        return outputs;
    }

    /// Adds the gradients of a micro-batch's losses, added up over its examples; returns its share of the step's mean loss. Every example
    /// weighs the same, so that the sum over micro-batches is one large batch's within rounding. Throws NonFiniteLoss.
    double backward(::torch::Tensor loss_sum) {
        if (!loss_sum.defined()) throw Error{Errc::plugin, "the loss is not defined; expected one number"};
        if (loss_sum.numel() != 1 || !loss_sum.requires_grad()) {
            throw Error{Errc::plugin, loss_sum.numel() != 1 ? "the loss has shape " + shape_text(loss_sum) + "; expected one number"
                                                            : std::string{"the loss has no gradient: nothing that learns is part of it"}};
        }
        const ::torch::Tensor loss = loss_sum / static_cast<double>(context_.examples);
        loss_sum.reset();
        const double value = [&] {
            const HarmlessReads of_the_loss;
            return loss.item<double>();
        }();
        check_loss(value, "in training");
        context_.attempt.sample(context_.number);  // while the activations are held
        context_.attempt.enter("backward");
        const double scale = context_.loss_scale.factor();
        (scale == 1 ? loss : loss * scale).backward();
        unused_gradients_ = true;
        return value;
    }

    /// Updates the parameters below a part of the model, such as "generator" or "encoder.layer.0", by their gradients; empty: all. The rate
    /// is the schedule's, times `rate_factor`. Drops all gradients, those of the other parts too. Throws Error when the part is unknown or
    /// has no gradient, and for a factor below 0.
    void update(std::string_view part = {}, double rate_factor = 1) {
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

    /// After a task's own step, which gave this mean loss. Throws Error when it left out what every step needs; NonFiniteLoss.
    void end_own(double loss) {
        context_.attempt.enter("step");  // a trace's steps end with it
        if (!made_a_pass_) throw Error{Errc::plugin, "training_step took no batch; expected a call of step.each_micro_batch"};
        if (updates_ == 0) throw Error{Errc::plugin, "training_step updated nothing; expected a call of step.update"};
        if (unused_gradients_) {
            throw Error{Errc::plugin,
                        "training_step ends with gradients that no update used; expected a call of step.update after the last backward"};
        }
        context_.model.zero_grad(/*set_to_none=*/true);  // what a tensor's own backward() left
        check_loss(loss, "in training");
    }

private:
    void keep_gradients_of(std::string_view part) {
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
            ::torch::Tensor other = parameter.value();
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

    StepContext context_;
    std::size_t first_batch_;
    int updates_ = 0;
    bool made_a_pass_ = false;
    bool unused_gradients_ = false;
};

/// Adds the gradients of the step's mean loss, a micro-batch at a time; returns that loss.
inline double accumulate_gradients(const Task& task, TrainingStep& step) {
    double loss = 0;
    step.each_micro_batch([&](const Batch& batch) {
        const Outputs outputs = step.forward(batch);
        loss += step.backward(task.loss_sum(outputs, batch));
    });
    return loss;
}

/// The loop's own step: one pass, the task's loss, one update. Returns the mean loss.
[[nodiscard]] inline double plain_step(const Task& task, TrainingStep& step) {
    const double loss = accumulate_gradients(task, step);
    step.update();
    return loss;
}

}  // namespace hpo::torch
