// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>

#include "hpo/torch/attempt.hpp"
#include "hpo/torch/autocast.hpp"
#include "hpo/torch/batch_checks.hpp"
#include "hpo/torch/batch_loader.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/value_reads.hpp"

namespace hpo::torch {

/// One optimizer step's passes.
struct StepPlan {
    std::int64_t examples = 1;  ///< over all its micro-batches
    Precision precision = Precision::fp32;
    double loss_scale = 1;
    std::int64_t number = 1;  ///< of the training's steps
};

/// What they came to.
struct StepResult {
    double mean_loss = 0;
    bool stopped = false;  ///< somebody asked the attempt to end; the gradients are those of a part of the step
};

/// Adds to the model's gradients `loss_scale` times those of the mean loss over the loader's next `step.examples` examples, a
/// micro-batch at a time. The last may be short: every example weighs the same, so the sum is one large batch's within rounding.
[[nodiscard]] inline StepResult accumulate_gradients(const Task& task, Model& model, BatchLoader& loader, const StepPlan& step,
                                                     RunningAttempt& attempt) {
    StepResult result;
    for (std::int64_t seen = 0; seen < step.examples;) {
        if (attempt.stop_requested()) {
            result.stopped = true;
            break;
        }
        attempt.enter("batch");
        const Batch batch = loader.next();
        seen += batch.examples();
        if (task.classes()) check_labels(batch.targets, *task.classes());
        attempt.enter("forward");
        ::torch::Tensor outputs;
        {
            const Autocast autocast{attempt.device(), step.precision};
            outputs = model.forward(batch);
        }
        if (task.classes()) check_logits(outputs, batch, *task.classes());
        if (step.precision != Precision::fp32) outputs = outputs.to(::torch::kFloat);
        const ::torch::Tensor loss = task.loss_sum(outputs, batch) / static_cast<double>(step.examples);
        const double value = [&] {
            const HarmlessReads of_the_loss;
            return loss.item<double>();
        }();
        check_loss(value, "in training");
        result.mean_loss += value;
        attempt.sample(step.number);  // while the activations are held
        attempt.enter("backward");
        (step.loss_scale == 1 ? loss : loss * step.loss_scale).backward();
    }
    return result;
}

}  // namespace hpo::torch
