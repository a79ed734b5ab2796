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
#include "hpo/torch/trace_scopes.hpp"
#include "hpo/torch/training_plan.hpp"

namespace hpo::torch {

/// A model for evaluations of which only the memory counts: passes that can need no more than an earlier one are left out.
class SparedModel final : public Model {
public:
    /// Thrown by the last of so many passes that the rest is taken to be alike, whether or not there is a rest: what the evaluation does
    /// then must not depend on how many examples it has. Inside torch/ only.
    struct Enough {};

    SparedModel(Model& whole, int most_passes) : whole_{whole}, most_passes_{most_passes} {}

    [[nodiscard]] Outputs forward(const Batch& batch) override;

private:
    /// An output of the last pass.
    struct Shown {
        std::vector<std::int64_t> sizes;
        ::torch::TensorOptions options;
    };
    using Shape = std::vector<std::int64_t>;  ///< the sizes of all inputs, one after the other

    static bool covers(const Shape& larger, const Shape& smaller) {
        return larger.size() == smaller.size() && std::equal(smaller.begin(), smaller.end(), larger.begin(), std::less_equal<>{});
    }

    Model& whole_;
    int most_passes_;
    int passes_ = 0;
    std::vector<Shape> seen_;
    std::vector<Shown> shown_;
};

/// A task with so few examples that one training shows what all of it would need: in each step at most three full micro-batches and the
/// short one, two full steps, where there are two, and each epoch's short last one, every batch as heavy as any of its size. It is
/// evaluated through a SparedModel. Where there are two epochs, each has one of the full steps: the first makes what the optimizer keeps.
class ShortTask final : public Task {
public:
    /// `device`: where the model is built.
    ShortTask(Task& whole, const TrainingPlan& plan, ::torch::Device device);
    /// The same with micro-batches of `examples` each, a short one counting as whole, and one pass an evaluation over a whole number of
    /// micro-batches: what changes with `examples` are sizes.
    [[nodiscard]] static ShortTask scaled(Task& whole, const TrainingPlan& plan, ::torch::Device device, std::int64_t examples);

    /// From the model's building on, a recording tells who takes a block (trace_scopes.hpp); that costs as much again.
    void name_scopes() { names_scopes_ = true; }
    /// The plan to train it with.
    [[nodiscard]] const TrainingPlan& plan() const { return plan_; }

    [[nodiscard]] std::shared_ptr<Model> build() override;
    [[nodiscard]] std::int64_t training_examples() const override { return examples_; }
    [[nodiscard]] Batch training_batch(std::span<const std::int64_t> examples, ::torch::Device device) const override {
        return whole_.training_batch(whole_.heaviest_batch(static_cast<std::int64_t>(examples.size())), device);
    }
    [[nodiscard]] Batch augmented_batch(std::span<const std::int64_t> examples, ::torch::Device device, const Epoch& epoch) const override {
        return whole_.augmented_batch(whole_.heaviest_batch(static_cast<std::int64_t>(examples.size())), device, epoch);
    }
    [[nodiscard]] ::torch::Tensor loss_sum(const Outputs& outputs, const Batch& batch) const override {
        return whole_.loss_sum(outputs, batch);
    }
    [[nodiscard]] bool has_own_step() const override { return whole_.has_own_step(); }
    [[nodiscard]] double training_step(TrainingStep& step) const override { return whole_.training_step(step); }
    [[nodiscard]] Metrics evaluate(Model& model, const EvaluationPlan& plan) const override;
    [[nodiscard]] std::optional<std::int64_t> classes() const override { return whole_.classes(); }
    [[nodiscard]] std::vector<std::string> layers() const override { return whole_.layers(); }
    void finish(Model& model, const EvaluationPlan& plan, Attributes& attributes) const override;

private:
    ShortTask(Task& whole, const TrainingPlan& plan, ::torch::Device device, int evaluation_passes);
    /// Of an epoch. A training of one step never computes beside what the optimizer keeps from the step before. How many examples there
    /// are is not known where something stands in for them.
    [[nodiscard]] std::int64_t full_steps(const TrainingPlan& plan) const {
        if (plan.epochs > 1) return 1;
        return whole_.training_examples() <= plan.effective_batch && whole_.stand_in().empty() ? 1 : 2;
    }
    /// Examples of a step and of a micro-batch, of the whole task.
    [[nodiscard]] std::pair<std::int64_t, std::int64_t> sizes(const TrainingPlan& plan) const {
        const std::int64_t step = std::min(plan.effective_batch, whole_.training_examples());
        return {step, std::min(plan.micro_batch, step)};
    }
    template <class Evaluation>
    void spare(Model& model, const Evaluation& evaluation) const;

    Task& whole_;
    TrainingPlan plan_;
    ::torch::Device device_;
    int evaluation_passes_;
    std::int64_t examples_ = 0;
    bool names_scopes_ = false;
    std::unique_ptr<TraceScopes> scopes_;  ///< of the model that was built
};

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/short_task_inl.hpp"
#endif
