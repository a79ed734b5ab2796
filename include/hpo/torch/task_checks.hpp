// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/torch/attempt.hpp"
#include "hpo/torch/prepared_model.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/training_plan.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo::torch {

/// What a task promises of its batches, its loss and its evaluation, held against a few examples and a model that has learnt nothing.
class TaskChecks {
public:
    /// `prepared` is trained a step where the task makes its steps itself.
    TaskChecks(const Task& task, PreparedModel prepared, const TrainingPlan& plan, RunningAttempt& attempt)
        : task_{task}, prepared_{std::move(prepared)}, model_{*prepared_.model}, plan_{plan}, attempt_{attempt} {}

    /// All broken promises. What does not fit the memory is left out: guards refuse it. `metrics` are those that the trainer describes.
    [[nodiscard]] std::vector<TrainerProblem> find(const std::vector<TrainerMetric>& metrics);

private:
    void add(std::string where, std::string what) { problems_.push_back({std::move(where), std::move(what)}); }

    [[nodiscard]] static std::vector<std::int64_t> first_examples(std::int64_t count);

    void check_training();

    /// False where augmented_batch breaks a promise for these examples, or gives a micro-batch of another number of examples.
    bool check_augmentation(std::span<const std::int64_t> chosen);

    /// One step of the task's own, in a micro-batch of two examples and a short one.
    void check_own_step();

    /// True where the first dimension counts examples, as that of every tensor must.
    bool counts_examples(const std::string& where, const Batch& batch, std::size_t examples);
    bool counts_examples(const std::string& where, const std::string& name, const ::torch::Tensor& tensor, std::size_t examples);

    /// The loss of a batch is the sum of what its examples give one by one: of the same outputs, so that neither dropout nor statistics
    /// of the batch differ.
    void check_sum(const Outputs& outputs, const Batch& batch, double together);
    /// The shape that both become, where it has more numbers than either; empty: they do not.
    static std::string broadcast_shape(const ::torch::Tensor& outputs, const ::torch::Tensor& targets);

    void check_gradients(const ::torch::Tensor& loss);

    void check_evaluation(const std::vector<TrainerMetric>& metrics);

    /// An example's outputs depend on that example alone, where the task does not say otherwise.
    void check_mixing();

    const Task& task_;
    PreparedModel prepared_;
    Model& model_;
    const TrainingPlan& plan_;
    RunningAttempt& attempt_;
    std::vector<TrainerProblem> problems_;
};

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/task_checks_inl.hpp"
#endif
