// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/torch/torch_trainer.hpp"

namespace line_fit {

using ::torch::Tensor;

/// y = w x + b.
struct Line final : hpo::torch::Model {
    Line() { linear = register_module("linear", ::torch::nn::Linear{1, 1}); }
    Tensor forward(const hpo::torch::Batch& batch) override { return linear(batch.inputs[0]); }
    ::torch::nn::Linear linear{nullptr};
};

/// Points near y = 3 x - 1; the first `points` are trained on, 100 more are held out.
class LineTask final : public hpo::torch::Task {
public:
    explicit LineTask(std::int64_t points) : points_{points} {
        const hpo::torch::Unmetered data_set;  // lives on the host: not the device's memory
        x_ = ::torch::linspace(-1, 1, points + 100).roll(points / 2).unsqueeze(1);
        y_ = 3 * x_ - 1 + 0.1 * (40 * x_).sin();
    }
    std::shared_ptr<hpo::torch::Model> build() override { return std::make_shared<Line>(); }
    std::int64_t training_examples() const override { return points_; }
    hpo::torch::Batch training_batch(std::span<const std::int64_t> examples, ::torch::Device device) const override {
        const Tensor chosen = ::torch::tensor(std::vector<std::int64_t>(examples.begin(), examples.end()), ::torch::kLong);
        return {{x_.index_select(0, chosen).to(device)}, y_.index_select(0, chosen).to(device)};
    }
    Tensor loss_sum(const Tensor& outputs, const hpo::torch::Batch& batch) const override { return (outputs - batch.targets).pow(2).sum(); }
    hpo::torch::Metrics evaluate(hpo::torch::Model& model, const hpo::torch::EvaluationPlan& plan) const override {
        const hpo::torch::Batch held_out{{x_.slice(0, points_).to(plan.device)}, y_.slice(0, points_).to(plan.device)};
        return {{"error", (model.forward(held_out) - held_out.targets).pow(2).mean().item<double>()}};
    }

private:
    std::int64_t points_;
    Tensor x_;
    Tensor y_;
};

class LineFit final : public hpo::torch::TorchTrainer {
    hpo::TrainerInfo describe() const override {
        return {.name = "line_fit",
                .summary = "a straight line through points",
                .parameters = {{"points", "int", "[1, 1000000]", std::int64_t{400}, "points to train on"}},
                .metrics = {{"error", hpo::Direction::minimize, "mean squared error on points held out"}}};
    }
    std::unique_ptr<hpo::torch::Task> make_task(const hpo::Settings& settings, const hpo::TrainerJob&) override {
        return std::make_unique<LineTask>(settings.whole("points"));
    }
};

}  // namespace line_fit
