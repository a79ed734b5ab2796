// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "hpo/base/error.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/torch/attempt.hpp"
#include "hpo/torch/autocast.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/training/batch_checks.hpp"
#include "hpo/torch/training/batch_loader.hpp"
#include "hpo/torch/training/loss_scale.hpp"
#include "hpo/torch/training/optimizer.hpp"

namespace hpo::libtorch {

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
    double clip_norm = 0;                   ///< see TrainingPlan::clip_norm
    std::function<void()> before_update{};  ///< called before each update, with the gradients in memory
};

/// One step of a training: passes over the step's micro-batches, gradients, updates. The loop or a task with its own step drives it. It
/// takes care of phases, memory marks, stops, autocast, the loss scale and clipping.
///
/// Thread safety: the attempt's thread.
class TrainingStep {
public:
    /// Thrown if the attempt was asked to stop. Used inside torch/ only: a task must not catch it.
    struct Stopped {};

    explicit TrainingStep(const StepContext& context) : context_{context}, first_batch_{context.loader.position()} {}

    /// The model that is trained. Throws Error if it is not a `Kind`.
    template <class Kind = Model>
    [[nodiscard]] Kind& model() const {
        if (auto* model = dynamic_cast<Kind*>(&context_.model)) return *model;
        throw Error{Errc::plugin, "the training step asks for another type of model than the task builds"};
    }
    [[nodiscard]] torch::Device device() const { return context_.attempt.device(); }
    [[nodiscard]] std::int64_t examples() const { return context_.examples; }  ///< over all micro-batches
    [[nodiscard]] std::int64_t number() const { return context_.number; }      ///< of the training's steps, from 1

    /// Calls work(batch) for each micro-batch of the step. A second pass in the same step gives the same batches.
    template <class Work>
    void each_micro_batch(const Work& work) {
        std::int64_t seen = 0;
        for (std::size_t index = first_batch_; seen < context_.examples; ++index) {
            if (context_.attempt.stop_requested()) throw Stopped{};
            context_.attempt.enter("batch");
            const Batch batch = index < context_.loader.position() ? context_.loader.again(index) : context_.loader.next();
            seen += batch.examples();
            context_.attempt.enter("forward");
            try {
                work(batch);
            } catch (const NonFiniteLoss&) {
                explain_loss(batch, index);
                throw;
            }
        }
        made_a_pass_ = true;
    }

    /// Calls pass() in the plan's precision and returns its result in fp32. pass() returns a tensor or Outputs. Compute losses from the
    /// returned values.
    template <class Pass>
    [[nodiscard]] Outputs in_precision(const Pass& pass) {
        context_.attempt.enter("forward");
        const Outputs outputs = [&]() -> Outputs {
            const Autocast precision{device(), context_.precision};
            return pass();
        }();
        return context_.precision == Precision::fp32 ? outputs : outputs.in_fp32();
    }
    /// The model's outputs, computed like this.
    [[nodiscard]] Outputs forward(const Batch& batch);

    /// Adds the gradients of a micro-batch. `loss_sum` is the sum of its examples' losses. Returns the micro-batch's share of the step's
    /// mean loss. Every example weighs the same, so the micro-batches add up to one large batch, within rounding. Throws NonFiniteLoss.
    double backward(torch::Tensor loss_sum);

    /// Updates the parameters below a part of the model, such as "generator" or "encoder.layer.0", from their gradients. An empty part
    /// means all. The rate is the schedule's rate times `rate_factor`. Drops all gradients, also those of the other parts. Throws Error if
    /// the part is unknown or has no gradient, or if the factor is below 0.
    void update(std::string_view part = {}, double rate_factor = 1);

    /// Ends a task's own step, whose mean loss this is. Throws Error if the step left out what every step needs, and NonFiniteLoss.
    void end_own(double loss);

private:
    void keep_gradients_of(std::string_view part);
    /// Throws BadBatch if the batch whose loss is not finite holds such numbers itself.
    void explain_loss(const Batch& batch, std::size_t index) const;

    StepContext context_;
    std::size_t first_batch_;
    int updates_ = 0;
    bool made_a_pass_ = false;
    bool unused_gradients_ = false;
};

/// Adds the gradients of the step's mean loss, one micro-batch at a time. Returns that loss.
double accumulate_gradients(const Task& task, TrainingStep& step);

/// The loop's own step: one pass, the task's loss, one update. Returns the mean loss.
[[nodiscard]] double plain_step(const Task& task, TrainingStep& step);

}  // namespace hpo::libtorch
