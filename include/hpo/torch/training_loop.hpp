// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/seed.hpp"
#include "hpo/torch/accumulation.hpp"
#include "hpo/torch/attempt.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/training_plan.hpp"

namespace hpo::torch {

/// The order in which an epoch visits the examples: the same for every micro-batch, platform and LibTorch.
[[nodiscard]] inline std::vector<std::int64_t> shuffled(std::int64_t examples, Seed seed) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(examples));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    Rng rng = seed.rng();
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
    return order;
}

/// Evaluates and returns every metric. Throws NonFiniteLoss when the objective is not a number.
[[nodiscard]] inline Metrics evaluate(const Task& task, Model& model, const TrainingPlan& plan, RunningAttempt& attempt) {
    attempt.enter("evaluation");
    const ::torch::NoGradGuard no_gradients;
    model.eval();
    Metrics metrics = task.evaluate(model, EvaluationPlan{attempt.device(), plan.evaluation_batch});
    const auto objective = metrics.find(plan.metric);
    if (objective == metrics.end()) throw Error{Errc::plugin, "the evaluation did not tell the metric '" + plan.metric + "'"};
    if (!std::isfinite(objective->second)) throw NonFiniteLoss{plan.metric + " is " + number_text(objective->second)};
    return metrics;
}

/// "epoch 2 of 3: training loss 0.41, accuracy 0.85, loss 0.4"
[[nodiscard]] inline std::string epoch_line(std::int64_t epoch, std::int64_t epochs, double training_loss, const Metrics& metrics) {
    std::string line =
        "epoch " + std::to_string(epoch) + " of " + std::to_string(epochs) + ": training loss " + display_text(training_loss);
    for (const auto& [name, value] : metrics) line += ", " + name + " " + display_text(value);
    return line;
}

/// Trains a model and returns how that ended; tells the objective after each epoch, steps counted from 1. The metrics of
/// the last epoch become attributes. The same seed, plan, threads and LibTorch give the same values.
[[nodiscard]] inline AttemptOutcome train(Task& task, const TrainingPlan& plan, const Seed seed, RunningAttempt& attempt) {
    AttemptOutcome outcome;
    outcome.kind = OutcomeKind::stopped;
    for (const std::string& remark : task.remarks()) attempt.progress().log(remark);
    attempt.enter("build");
    ::torch::manual_seed(seed.derive("weights").value);
    const std::shared_ptr<Model> model = task.build();
    model->to(attempt.device());
    const auto optimizer = make_optimizer(plan.optimizer, model->parameters());
    const std::int64_t examples = task.training_examples();
    const std::int64_t steps_per_epoch = (examples + plan.effective_batch - 1) / plan.effective_batch;
    outcome.approximate = task.mixes_examples() && plan.micro_batch < std::min(plan.effective_batch, examples);
    attempt.mark("training_start");

    Metrics metrics;
    std::int64_t step = 0;
    for (std::int64_t epoch = 1; epoch <= plan.epochs; ++epoch) {
        const Seed order_seed = seed.derive("order").derive(static_cast<std::uint64_t>(epoch));
        std::vector<std::int64_t> order = shuffled(examples, order_seed);
        task.arrange(order, {.effective_batch = plan.effective_batch, .seed = order_seed});
        model->train();
        double training_loss = 0;
        for (std::int64_t start = 0; start < examples; start += plan.effective_batch, ++step) {
            const std::int64_t count = std::min(plan.effective_batch, examples - start);
            ::torch::manual_seed(seed.derive("noise").derive(static_cast<std::uint64_t>(step)).value);
            const std::span chosen = std::span{order}.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(count));
            const StepResult result = accumulate_gradients(task, *model, chosen, plan.micro_batch, attempt);
            if (result.stopped) return outcome;
            training_loss += result.mean_loss * static_cast<double>(count);
            attempt.enter("step");
            set_learning_rate(*optimizer, plan.optimizer.learning_rate * plan.schedule.factor(step, steps_per_epoch * plan.epochs));
            optimizer->step();
            model->zero_grad(/*set_to_none=*/true);
        }
        metrics = evaluate(task, *model, plan, attempt);
        attempt.progress().log(epoch_line(epoch, plan.epochs, training_loss / static_cast<double>(examples), metrics));
        if (!attempt.progress().report(epoch, metrics.at(plan.metric))) return outcome;
    }
    attempt.mark("training_end");

    attempt.enter("evaluation");
    const ::torch::NoGradGuard no_gradients;
    task.finish(*model, EvaluationPlan{attempt.device(), plan.evaluation_batch}, outcome.attributes);
    for (const auto& [name, value] : metrics) outcome.attributes.insert_or_assign(name, number_text(value));
    outcome.values = {metrics.at(plan.metric)};
    outcome.kind = OutcomeKind::complete;
    return outcome;
}

}  // namespace hpo::torch
