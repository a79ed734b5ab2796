// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/seed.hpp"
#include "hpo/core/study.hpp"
#include "hpo/torch/attempt.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/training/loss_scale.hpp"
#include "hpo/torch/training/optimizer.hpp"
#include "hpo/torch/training/plan.hpp"
#include "hpo/torch/training/prepared_model.hpp"

namespace hpo::libtorch {

/// The tensors that training changes: parameters that learn, then buffers, in the model's order.
[[nodiscard]] std::vector<torch::Tensor> changing_tensors(const torch::nn::Module& model);

/// The best report of an attempt that stops early: its metrics, and the weights at that time. They lie in host memory outside the meter.
struct BestReport {
    std::int64_t step = 0;  ///< from 1; 0: none yet
    double value = 0;
    Metrics metrics;
    std::vector<torch::Tensor> weights;  ///< changing_tensors

    /// Keeps the candidate if it is better than all reports before it.
    void see(const BestReport& candidate, Direction direction, const torch::nn::Module& model);
    /// True if the last `patience` reports in a row were no better. False if `patience` is 0.
    [[nodiscard]] bool exhausted(std::int64_t latest, std::int64_t patience) const { return patience > 0 && latest - step >= patience; }
    /// Gives the model the weights of the best report again.
    void restore(torch::nn::Module& model) const;
};

/// A training after a report: everything that the rest depends on besides task, plan and seed. Random numbers are not part of it, because
/// each step seeds its own.
struct TrainingState {
    std::shared_ptr<Model> model;
    std::vector<std::string> parts;  ///< of the model, from its input to its output
    Optimizer optimizer;
    LossScale loss_scale;
    std::int64_t report = 0;  ///< step of the latest report, TrainingPlan::reports_per_epoch for each epoch; 0: none yet
    std::int64_t step = 0;    ///< optimizer steps done, including those that fp16 left out
    Metrics metrics;          ///< of the latest report
    BestReport best;          ///< kept if the plan has patience
};

/// The state before the first step.
[[nodiscard]] inline TrainingState begin_training(Task& task, const TrainingPlan& plan, Seed seed, RunningAttempt& attempt) {
    PreparedModel prepared = prepare_model(task, plan.tuning, seed, attempt);
    Optimizer optimizer{plan.optimizer, parameter_groups(*prepared.model, prepared.parts, plan.optimizer.layer_decay)};
    return {.model = std::move(prepared.model),
            .parts = std::move(prepared.parts),
            .optimizer = std::move(optimizer),
            .loss_scale = LossScale{plan.precision}};
}

}  // namespace hpo::libtorch
