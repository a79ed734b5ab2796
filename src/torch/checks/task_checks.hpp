// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/torch/attempt.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/training/plan.hpp"
#include "hpo/torch/training/prepared_model.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo::libtorch {

/// Checks the rules for a task's batches, loss and evaluation, with a few examples and an untrained model.
class TaskChecks {
public:
    /// `prepared` is trained for one step. With `tells`, the log also says what was looked at.
    TaskChecks(const Task& task, PreparedModel prepared, const TrainingPlan& plan, RunningAttempt& attempt, bool tells = false)
        : task_{task}, prepared_{std::move(prepared)}, model_{*prepared_.model}, plan_{plan}, attempt_{attempt}, tells_{tells} {}

    /// All broken rules. A check that runs out of memory is left out, because guards refuse such trials. `metrics` are those of the
    /// trainer's description.
    [[nodiscard]] std::vector<TrainerProblem> find(const std::vector<TrainerMetric>& metrics);

private:
    void add(std::string where, std::string what) { problems_.push_back({std::move(where), std::move(what)}); }

    [[nodiscard]] static std::vector<std::int64_t> first_examples(std::int64_t count);

    void check_training();

    /// False if augmented_batch breaks a rule for these examples or returns another number of examples.
    bool check_augmentation(std::span<const std::int64_t> chosen);

    /// Makes one training step of at most `examples`, in micro-batches of two. It must change the weights.
    void check_step(std::int64_t examples);
    /// The first numbers of each parameter that learns.
    [[nodiscard]] std::vector<torch::Tensor> some_weights() const;

    /// True if the first dimension of every tensor counts the examples, as it must.
    bool counts_examples(const std::string& where, const Batch& batch, std::size_t examples);
    bool counts_examples(const std::string& where, const std::string& name, const torch::Tensor& tensor, std::size_t examples);

    /// Checks that the loss of a batch is the sum of its examples' losses. Both are computed from the same outputs, so that dropout and
    /// batch statistics do not matter.
    void check_sum(const Outputs& outputs, const Batch& batch, double together);
    /// The shape that both are broadcast to, if it has more numbers than either. Otherwise empty.
    static std::string broadcast_shape(const torch::Tensor& outputs, const torch::Tensor& targets);

    /// Checks that the loss has gradients, and that they are finite and not all 0. In fp16 they are not judged, because only a loss scale
    /// keeps them from being 0.
    void check_gradients(const torch::Tensor& loss);
    void judge_gradients();
    /// False on a virtual card, where no value means anything.
    [[nodiscard]] bool computes() const;

    void check_evaluation(const std::vector<TrainerMetric>& metrics);

    /// Checks that an example's outputs depend on that example alone, unless the task says otherwise.
    void check_mixing();

    const Task& task_;
    PreparedModel prepared_;
    Model& model_;
    const TrainingPlan& plan_;
    RunningAttempt& attempt_;
    bool tells_;
    std::vector<TrainerProblem> problems_;
};

}  // namespace hpo::libtorch
