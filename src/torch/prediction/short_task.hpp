// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/torch/task.hpp"
#include "hpo/torch/training/plan.hpp"
#include "torch/prediction/trace_scopes.hpp"

namespace hpo::libtorch {

/// A model for evaluations of which only the memory matters. It leaves out passes that cannot need more than an earlier one.
class SparedModel final : public Model {
public:
    /// Thrown by the last pass that counts. The rest of the evaluation is taken to be alike. It is thrown whether or not there is a rest,
    /// so that the recorded memory does not depend on the number of examples. Used inside torch/ only.
    struct Enough {};

    SparedModel(Model& whole, int most_passes) : whole_{whole}, most_passes_{most_passes} {}

    [[nodiscard]] Outputs forward(const Batch& batch) override;

private:
    /// An output of the last pass.
    struct Shown {
        std::vector<std::int64_t> sizes;
        torch::TensorOptions options;
    };
    using Shape = std::vector<std::int64_t>;  ///< the sizes of all inputs, concatenated

    static bool covers(const Shape& larger, const Shape& smaller) {
        return larger.size() == smaller.size() && std::equal(smaller.begin(), smaller.end(), larger.begin(), std::less_equal<>{});
    }

    Model& whole_;
    int most_passes_;
    int passes_ = 0;
    std::vector<Shape> seen_;
    std::vector<Shown> shown_;
};

/// A short version of a task, whose training needs as much memory as the whole one. It has at most two epochs and two full steps, plus each
/// epoch's short last step. A step has at most three full micro-batches and the short one. Every batch is as heavy as the heaviest of its
/// size. Evaluations run through a SparedModel. If there are two epochs, each has one full step: the first makes the optimizer's state.
class ShortTask final : public Task {
public:
    /// `device` is the device on which the model is built.
    ShortTask(Task& whole, const TrainingPlan& plan, torch::Device device);
    /// The same with micro-batches of `examples` each, where a short one counts as whole. An evaluation is one pass over a whole number of
    /// micro-batches. So if `examples` changes, only sizes change.
    [[nodiscard]] static ShortTask scaled(Task& whole, const TrainingPlan& plan, torch::Device device, std::int64_t examples);

    /// Makes a recording say what takes each block (prediction/trace_scopes.hpp), from the model's building on. The recording then costs
    /// twice as much.
    void name_scopes() { names_scopes_ = true; }
    /// The plan of its training.
    [[nodiscard]] const TrainingPlan& plan() const { return plan_; }

    [[nodiscard]] std::shared_ptr<Model> build() override;
    [[nodiscard]] std::int64_t training_examples() const override { return examples_; }
    [[nodiscard]] Batch training_batch(std::span<const std::int64_t> examples, torch::Device device) const override {
        return moved(whole_.training_batch(whole_.heaviest_batch(static_cast<std::int64_t>(examples.size())), device), device);
    }
    [[nodiscard]] Batch augmented_batch(std::span<const std::int64_t> examples, torch::Device device, const Epoch& epoch) const override {
        return moved(whole_.augmented_batch(whole_.heaviest_batch(static_cast<std::int64_t>(examples.size())), device, epoch), device);
    }
    [[nodiscard]] torch::Tensor loss_sum(const Outputs& outputs, const Batch& batch) const override {
        return whole_.loss_sum(outputs, batch);
    }
    [[nodiscard]] bool has_own_step() const override { return whole_.has_own_step(); }
    [[nodiscard]] double training_step(TrainingStep& step) const override { return whole_.training_step(step); }
    [[nodiscard]] Metrics evaluate(Model& model, const EvaluationPlan& plan) const override;
    [[nodiscard]] std::optional<std::int64_t> classes() const override { return whole_.classes(); }
    [[nodiscard]] BatchRules batch_rules() const override { return whole_.batch_rules(); }
    [[nodiscard]] std::vector<std::string> layers() const override { return whole_.layers(); }
    void finish(Model& model, const EvaluationPlan& plan, Attributes& attributes) const override;

private:
    ShortTask(Task& whole, const TrainingPlan& plan, torch::Device device, int evaluation_passes);
    /// The full steps of an epoch. A training of a single step never computes while the optimizer holds state from an earlier step. If
    /// something stands in for the data, the number of examples is unknown.
    [[nodiscard]] std::int64_t full_steps(const TrainingPlan& plan) const {
        if (plan.epochs > 1) return 1;
        return whole_.training_examples() <= plan.effective_batch && whole_.stand_in().empty() ? 1 : 2;
    }
    /// The examples of a step and of a micro-batch of the whole task.
    [[nodiscard]] std::pair<std::int64_t, std::int64_t> sizes(const TrainingPlan& plan) const {
        const std::int64_t step = std::min(plan.effective_batch, whole_.training_examples());
        return {step, std::min(plan.micro_batch, step)};
    }
    /// The workers of a loader move each batch to its device. A short training has none, so this does it for them.
    [[nodiscard]] Batch moved(Batch batch, torch::Device device) const;
    template <class Evaluation>
    void spare(Model& model, const Evaluation& evaluation) const;

    Task& whole_;
    TrainingPlan plan_;
    torch::Device device_;
    int evaluation_passes_;
    std::int64_t examples_ = 0;
    bool moves_batches_ = false;
    bool names_scopes_ = false;
    std::unique_ptr<TraceScopes> scopes_;  ///< of the built model
};

}  // namespace hpo::libtorch
