// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "hpo/core/value.hpp"
#include "hpo/torch/attempt.hpp"
#include "hpo/torch/autocast.hpp"
#include "hpo/torch/batch_checks.hpp"
#include "hpo/torch/failure_translation.hpp"
#include "hpo/torch/prepared_model.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/training_plan.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo::torch {

/// A model for an evaluation of which only the names of its metrics count: after the first pass over examples of a shape it gives the
/// outputs of one of them for each.
class FewPasses final : public Model {
public:
    /// Thrown by a pass beyond the last: the evaluation is too long to be looked at. Inside torch/ only.
    struct Enough {};

    explicit FewPasses(Model& whole) : whole_{whole} {}

    [[nodiscard]] ::torch::Tensor forward(const Batch& batch) override {
        constexpr int most_passes = 200;
        if (++passes_ > most_passes) throw Enough{};
        std::vector<std::int64_t> shape;  // of an example
        for (const ::torch::Tensor& input : batch.inputs) {
            for (std::int64_t i = 1; i < input.dim(); ++i) shape.push_back(input.size(i));
            shape.push_back(-1);
        }
        if (!first_.defined() || shape != shape_ || first_.dim() == 0) {
            const ::torch::Tensor outputs = whole_.forward(batch);
            first_ = outputs.dim() > 0 && outputs.size(0) > 0 ? outputs.slice(0, 0, 1) : ::torch::Tensor{};
            shape_ = std::move(shape);
            return outputs;
        }
        std::vector<std::int64_t> sizes = first_.sizes().vec();
        sizes.front() = batch.examples();
        return first_.expand(sizes).clone();
    }

private:
    Model& whole_;
    int passes_ = 0;
    ::torch::Tensor first_;
    std::vector<std::int64_t> shape_;
};

/// What a task promises of its batches, its loss and its evaluation, held against a few examples and a model that has learnt nothing.
class TaskChecks {
public:
    TaskChecks(const Task& task, Model& model, const TrainingPlan& plan, RunningAttempt& attempt)
        : task_{task}, model_{model}, plan_{plan}, attempt_{attempt} {}

    /// All broken promises. What does not fit the memory is left out: guards refuse it. `parts` are the model's, `metrics` those that the
    /// trainer describes.
    [[nodiscard]] std::vector<TrainerProblem> find(const std::vector<std::string>& parts, const std::vector<TrainerMetric>& metrics) {
        try {
            enter_training(model_, parts);
            check_training();
            check_evaluation(metrics);
        } catch (...) {
            const FailureKind kind = translate_failure(std::current_exception(), attempt_.phase(), {}).kind;
            if (kind != FailureKind::out_of_memory && kind != FailureKind::host_out_of_memory) throw;
        }
        return std::move(problems_);
    }

private:
    void add(std::string where, std::string what) { problems_.push_back({std::move(where), std::move(what)}); }

    void check_training() {
        std::vector<std::int64_t> chosen;
        for (std::int64_t i = 0; i < std::min<std::int64_t>(2, task_.training_examples()); ++i) chosen.push_back(i);
        attempt_.enter("batch");
        const Batch batch = task_.training_batch(chosen, attempt_.device());
        const auto examples = static_cast<std::int64_t>(chosen.size());
        if (!counts_examples("training_batch", "targets", batch.targets, examples)) return;
        for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
            if (!counts_examples("training_batch", "input " + std::to_string(i), batch.inputs[i], examples)) return;
        }
        attempt_.enter("forward");
        ::torch::Tensor outputs;
        {
            const Autocast autocast{attempt_.device(), plan_.precision};
            outputs = model_.forward(batch);
        }
        if (!counts_examples("forward", "outputs", outputs, examples)) return;
        if (plan_.precision != Precision::fp32) outputs = outputs.to(::torch::kFloat);
        const ::torch::Tensor loss = task_.loss_sum(outputs, batch);
        if (loss.numel() != 1) {
            add("loss_sum", "its loss has shape " + shape_text(loss) + "; expected one number, the sum over the batch's examples");
            return;
        }
        check_sum(outputs.detach(), batch, loss.item<double>());
        check_gradients(loss);
    }

    /// True where the first dimension counts examples, as that of every tensor must.
    bool counts_examples(const std::string& where, const std::string& name, const ::torch::Tensor& tensor, std::int64_t examples) {
        if (tensor.defined() && tensor.dim() > 0 && tensor.size(0) == examples) return true;
        add(where, name + (tensor.defined() ? " of shape " + shape_text(tensor) : " that are not defined") + " for " +
                       std::to_string(examples) + " examples; expected a first dimension that counts the examples");
        return false;
    }

    /// The loss of a batch is the sum of what its examples give one by one: of the same outputs, so that neither dropout nor statistics
    /// of the batch differ.
    void check_sum(const ::torch::Tensor& outputs, const Batch& batch, double together) {
        const ::torch::NoGradGuard no_gradients;
        double sum = 0;
        double size = 0;
        for (std::int64_t i = 0; i < batch.examples(); ++i) {
            Batch one{{}, batch.targets.slice(0, i, i + 1)};
            for (const ::torch::Tensor& input : batch.inputs) one.inputs.push_back(input.slice(0, i, i + 1));
            const double loss = task_.loss_sum(outputs.slice(0, i, i + 1), one).item<double>();
            sum += loss;
            size += std::fabs(loss);
        }
        const auto alike = [&](double a, double b) { return std::fabs(a - b) <= 1e-3 * std::max(size, std::fabs(together)) + 1e-12; };
        if (!std::isfinite(together) || !std::isfinite(sum) || alike(together, sum)) return;
        const std::string figures = ": " + display_text(together) + " for " + std::to_string(batch.examples()) + " examples together, " +
                                    display_text(sum) + " for the same ones one by one";
        if (const auto wider = broadcast_shape(outputs, batch.targets); !wider.empty()) {
            add("loss_sum", "outputs of shape " + shape_text(outputs) + " are held against targets of shape " + shape_text(batch.targets) +
                                ", which LibTorch widens to " + wider + figures + "; expected outputs and targets of one shape");
        } else if (alike(together * static_cast<double>(batch.examples()), sum)) {
            add("loss_sum", "it is a mean over the batch" + figures + "; expected the sum over the batch's examples");
        } else {
            add("loss_sum", "it does not add up" + figures + "; expected the sum over the batch's examples");
        }
    }
    /// The shape that both become, where it has more numbers than either; empty: they do not.
    static std::string broadcast_shape(const ::torch::Tensor& outputs, const ::torch::Tensor& targets) {
        if (outputs.sizes() == targets.sizes()) return {};
        const std::int64_t dimensions = std::max(outputs.dim(), targets.dim());
        std::string text;
        std::int64_t numbers = 1;
        for (std::int64_t i = -dimensions; i < 0; ++i) {
            const std::int64_t a = -i <= outputs.dim() ? outputs.size(i) : 1;
            const std::int64_t b = -i <= targets.dim() ? targets.size(i) : 1;
            if (a != b && a != 1 && b != 1) return {};
            numbers *= std::max(a, b);
            text += (text.empty() ? "[" : ", ") + std::to_string(std::max(a, b));
        }
        return numbers > std::max(outputs.numel(), targets.numel()) ? text + "]" : std::string{};
    }

    void check_gradients(const ::torch::Tensor& loss) {
        if (!learns(model_)) return;
        const std::string expected = "; expected a loss that is computed from the model's outputs";
        if (!loss.requires_grad()) {
            add("loss_sum", "its loss has no gradient, so nothing would learn: something detaches it" + expected);
            return;
        }
        attempt_.enter("backward");
        loss.backward();
        const auto parameters = model_.parameters();
        const bool any =
            std::any_of(parameters.begin(), parameters.end(), [](const ::torch::Tensor& each) { return each.grad().defined(); });
        if (!any) add("loss_sum", "no parameter of the model gets a gradient from its loss, so nothing would learn" + expected);
    }

    void check_evaluation(const std::vector<TrainerMetric>& metrics) {
        attempt_.enter("evaluation");
        constexpr std::int64_t most_examples = 32;
        const ::torch::NoGradGuard no_gradients;
        const Autocast autocast{attempt_.device(), plan_.precision};
        model_.eval();
        FewPasses model{model_};
        model.eval();
        Metrics told;
        try {
            told = task_.evaluate(model, EvaluationPlan{attempt_.device(), std::min(plan_.evaluation_batch, most_examples)});
        } catch (const FewPasses::Enough&) {
            return;  // a training will tell
        }
        std::vector<std::string> names;
        for (const auto& [name, value] : told) names.push_back(name);
        for (const TrainerMetric& metric : metrics) {
            if (!told.contains(metric.name))
                add("evaluate",
                    "it does not tell the metric '" + metric.name + "', which describe() names; it tells: " + join_names(names));
        }
    }

    const Task& task_;
    Model& model_;
    const TrainingPlan& plan_;
    RunningAttempt& attempt_;
    std::vector<TrainerProblem> problems_;
};

}  // namespace hpo::torch
