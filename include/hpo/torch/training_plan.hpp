// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/torch/optimizer.hpp"
#include "hpo/torch/schedule.hpp"
#include "hpo/trainer/settings.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo::torch {

/// How the loop trains: the part of a job that is the same for every plugin.
struct TrainingPlan {
    std::int64_t epochs = 1;
    std::int64_t effective_batch = 1;  ///< examples for one optimizer step
    std::int64_t micro_batch = 1;      ///< examples in one pass, at most `effective_batch`
    std::int64_t evaluation_batch = 1;
    OptimizerSettings optimizer;
    Schedule schedule;
    std::string metric;  ///< the objective
};

/// The parameters and options that the loop itself understands; TorchTrainer adds them to a plugin's own.
[[nodiscard]] inline std::vector<TrainerParameter> training_parameters() {
    return {
        {"train.batch_size", "int", "[1, 1048576]", std::int64_t{64}, "examples for one optimizer step (the effective batch)"},
        {"optim.kind", "one of sgd, adamw", "", std::string{"adamw"}, "optimizer"},
        {"optim.lr", "float", "(0, inf)", 1e-3, "highest learning rate"},
        {"optim.momentum", "float", "[0, 1)", 0.9, "of sgd"},
        {"optim.nesterov", "bool", "", false, "Nesterov's momentum, for sgd"},
        {"optim.weight_decay", "float", "[0, inf)", 0.0, "weight decay"},
        {"optim.schedule", "one of constant, cosine, linear", "", std::string{"constant"}, "the learning rate after the warm-up"},
        {"optim.warmup", "float", "[0, 1)", 0.0, "share of the steps in which the learning rate rises"},
        {"epochs", "int", "[1, 1000000]", std::int64_t{3}, "passes over the training examples"},
        {"eval_batch", "int", "[1, 1024]", std::int64_t{1}, "examples evaluated at a time, as a multiple of the micro-batch"},
        {"threads", "int", "[0, 1024]", std::int64_t{0}, "threads that LibTorch computes with; 0: as many as the worker was given"},
    };
}

/// The job's training plan. Throws Error for a plan without examples and for arithmetic that the loop does not have.
[[nodiscard]] inline TrainingPlan training_plan(const Settings& settings, const TrainerJob& job) {
    ExecutionPlan execution = job.plan;
    if (!execution.effective_batch) execution.effective_batch = settings.whole("train.batch_size");
    if (*execution.effective_batch < 1 || (execution.micro_batch && *execution.micro_batch < 1)) {
        throw bad_value("plan", "a batch without examples", "effective batch and micro-batch of at least 1");
    }
    if (execution.precision != Precision::fp32)
        throw bad_value("plan", to_text(execution.precision), "fp32, which is all that this trainer has");
    TrainingPlan plan;
    plan.epochs = settings.whole("epochs");
    plan.effective_batch = *execution.effective_batch;
    plan.micro_batch = execution.effective_micro_batch().value_or(plan.effective_batch);
    plan.evaluation_batch = plan.micro_batch * settings.whole("eval_batch");
    plan.optimizer = {.kind = optimizer_kind(settings.text("optim.kind")).value_or(OptimizerKind::adamw),
                      .learning_rate = settings.number("optim.lr"),
                      .weight_decay = settings.number("optim.weight_decay"),
                      .momentum = settings.number("optim.momentum"),
                      .nesterov = settings.truth("optim.nesterov")};
    plan.schedule = {.kind = schedule_kind(settings.text("optim.schedule")).value_or(ScheduleKind::constant),
                     .warmup = settings.number("optim.warmup")};
    plan.metric = job.metric;
    return plan;
}

}  // namespace hpo::torch
