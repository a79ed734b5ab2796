// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "hpo/torch/attempt.hpp"
#include "hpo/torch/batch_checks.hpp"
#include "hpo/torch/task.hpp"

namespace hpo::torch {

/// What one optimizer step's passes came to.
struct StepResult {
    double mean_loss = 0;
    bool stopped = false;  ///< somebody asked the attempt to end; the gradients are those of a part of the step
};

/// Adds to the model's gradients those of the mean loss over `examples`, computed `micro_batch` examples at a time. The
/// last micro-batch may be short: every example weighs the same, so the sum is one large batch's within rounding.
[[nodiscard]] inline StepResult accumulate_gradients(const Task& task, Model& model, std::span<const std::int64_t> examples,
                                                     std::int64_t micro_batch, RunningAttempt& attempt) {
    StepResult result;
    const auto count = static_cast<double>(examples.size());
    const auto stride = static_cast<std::size_t>(std::max<std::int64_t>(1, micro_batch));
    for (std::size_t start = 0; start < examples.size(); start += stride) {
        if (attempt.stop_requested()) {
            result.stopped = true;
            break;
        }
        attempt.enter("batch");
        const Batch batch = task.training_batch(examples.subspan(start, std::min(stride, examples.size() - start)), attempt.device());
        if (task.classes()) check_labels(batch.targets, *task.classes());
        attempt.enter("forward");
        const ::torch::Tensor outputs = model.forward(batch);
        if (task.classes()) check_logits(outputs, batch, *task.classes());
        const ::torch::Tensor loss = task.loss_sum(outputs, batch) / count;
        const double value = loss.item<double>();
        check_loss(value, "in training");
        result.mean_loss += value;
        attempt.enter("backward");
        loss.backward();
    }
    return result;
}

}  // namespace hpo::torch
