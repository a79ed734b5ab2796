// SPDX-License-Identifier: MIT
// Plugins of LibTorch that each break one promise of a task.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "hpo/testing/trainer_contract.hpp"
#include "hpo/torch/torch_trainer.hpp"
#include "support/catch.hpp"

namespace {

using torch::Tensor;

/// A line through points; its outputs have one number for each example, [examples] or [examples, 1].
struct Line final : hpo::libtorch::Model {
    explicit Line(std::string flaw) : flaw_{std::move(flaw)} {
        if (flaw_ == "seed") torch::manual_seed(1);
        layer = register_module("layer", torch::nn::Linear{3, 1});
        dropout = register_module("dropout", torch::nn::Dropout{0.5});
        norm = register_module("norm", torch::nn::BatchNorm1d{3});
        if (flaw_ == "too_large_to_move") {
            const torch::NoGradGuard no_gradients;
            for (torch::Tensor& parameter : parameters()) parameter.fill_(1e12);
        }
    }
    hpo::libtorch::Outputs forward(const hpo::libtorch::Batch& batch) override {
        Tensor inputs = batch.inputs[0];
        if (flaw_.find("dropout") != std::string::npos) inputs = dropout(inputs);
        if (flaw_.find("noise") != std::string::npos) inputs = inputs + torch::randn_like(inputs);
        if (flaw_.find("frozen_norm") != std::string::npos) norm->eval();
        if (flaw_.find("_norm") != std::string::npos) inputs = norm(inputs);
        const Tensor outputs = layer(inputs);
        return flaw_ == "column" || flaw_ == "column_handled" ? outputs : outputs.squeeze(1);
    }
    torch::nn::Linear layer{nullptr};
    torch::nn::Dropout dropout{nullptr};
    torch::nn::BatchNorm1d norm{nullptr};
    std::string flaw_;
};

class FlawedTask final : public hpo::libtorch::Task {
public:
    explicit FlawedTask(std::string flaw) : flaw_{std::move(flaw)} {
        const hpo::libtorch::Unmetered data_set;
        x_ = torch::linspace(-1, 1, 3 * 40).reshape({40, 3});
        y_ = x_.sum(1) + 0.5;
    }
    std::shared_ptr<hpo::libtorch::Model> build() override { return std::make_shared<Line>(flaw_); }
    std::int64_t training_examples() const override { return 30; }
    hpo::libtorch::Batch training_batch(std::span<const std::int64_t> examples, torch::Device device) const override {
        const Tensor chosen = torch::tensor(std::vector<std::int64_t>(examples.begin(), examples.end()), torch::kLong);
        hpo::libtorch::Batch batch{{x_.index_select(0, chosen).to(device)}, y_.index_select(0, chosen).to(device)};
        if (flaw_ == "input") batch.inputs.push_back(torch::ones({7}));
        return batch;
    }
    bool mixes_examples() const override { return flaw_ == "declared batch_norm"; }
    Tensor loss_sum(const hpo::libtorch::Outputs& outputs, const hpo::libtorch::Batch& batch) const override {
        if (flaw_ == "mean") return (outputs - batch.targets).pow(2).mean();
        if (flaw_ == "mean_of_column") return torch::mse_loss(outputs.only().unsqueeze(1), batch.targets);
        if (flaw_ == "square") return (outputs - batch.targets).abs().sum().pow(2);
        if (flaw_ == "vector") return (outputs - batch.targets).pow(2);
        if (flaw_ == "undefined") return {};
        if (flaw_ == "whole") return (outputs - batch.targets).round().to(torch::kLong).sum();
        if (flaw_ == "detached") return (outputs.only().detach() - batch.targets).pow(2).sum();
        if (flaw_ == "zero") return (outputs.only() * 0).sum() + batch.targets.sum();
        if (flaw_ == "root_of_zero") return (outputs.only() * 0).abs().sqrt().sum() + batch.targets.sum();
        if (flaw_ == "elsewhere") return batch.targets.clone().requires_grad_().sum();
        if (flaw_ == "column_handled") return (outputs.only().squeeze(1) - batch.targets).pow(2).sum();
        return (outputs - batch.targets).pow(2).sum();
    }
    hpo::libtorch::Metrics evaluate(hpo::libtorch::Model& model, const hpo::libtorch::EvaluationPlan& plan) const override {
        double sum = 0;
        if (flaw_ == "train") model.train();
        if (flaw_ == "train_and_back") {
            model.train();
            model.eval();
        }
        for (std::int64_t at = 30; at < x_.size(0); at += plan.batch_examples) {
            if (flaw_ == "vector") static_cast<void>(loss_sum(y_.slice(0, 30, 40), {{}, y_.slice(0, 30, 40)}).item<double>());
            const std::int64_t end = std::min(at + plan.batch_examples, x_.size(0));
            const hpo::libtorch::Batch batch{{x_.slice(0, at, end).to(plan.device)}, y_.slice(0, at, end).to(plan.device)};
            sum += (model.forward(batch).only().reshape({-1}) - batch.targets).pow(2).sum().item<double>();
        }
        if (flaw_ == "whole_evaluation") static_cast<void>(model.forward({{x_.to(plan.device)}, y_.to(plan.device)}));
        if (flaw_ == "casts") return {{"error", dynamic_cast<Line&>(model).layer->weight.norm().item<double>()}};
        if (flaw_ == "long") {
            for (int pass = 0; pass < 1000; ++pass)
                sum +=
                    model.forward({{x_.slice(0, 30, 31).to(plan.device)}, y_.slice(0, 30, 31).to(plan.device)}).only().sum().item<double>();
            return {};
        }
        if (flaw_ == "metric") return {{"rmse", std::sqrt(sum / 10)}};
        if (flaw_ == "second_metric") return {{"error", sum / 10}};
        return {{"error", sum / 10}, {"worst", sum}};
    }

private:
    std::string flaw_;
    Tensor x_;  ///< [40, 3]
    Tensor y_;  ///< [40]
};

class FlawedTrainer final : public hpo::libtorch::TorchTrainer {
public:
    explicit FlawedTrainer(std::string flaw) : flaw_{std::move(flaw)} {}

private:
    hpo::TrainerInfo describe() const override {
        return {.name = "flawed",
                .summary = "for a test",
                .metrics = {{"error", hpo::Direction::minimize, "mean square"}, {"worst", hpo::Direction::minimize, "sum of squares"}}};
    }
    std::unique_ptr<hpo::libtorch::Task> make_task(const hpo::Settings&, const hpo::TrainerJob&) override {
        return std::make_unique<FlawedTask>(flaw_);
    }
    std::string flaw_;
};

hpo::TrainerJob job() {
    hpo::TrainerJob job;
    job.metric = "error";
    job.params = {{"train.batch_size", std::int64_t{8}}, {"epochs", std::int64_t{1}}, {"threads", std::int64_t{1}}};
    return job;
}

std::vector<std::string> broken(const std::string& flaw, const hpo::TrainerJob& asked = job()) {
    FlawedTrainer trainer{flaw};
    std::vector<std::string> lines;
    for (const auto& problem : trainer.check(asked)) lines.push_back(problem.where + ": " + problem.what);
    return lines;
}

std::string only(const std::string& flaw) {
    const auto lines = broken(flaw);
    for (const std::string& line : lines) UNSCOPED_INFO(line);
    CHECK(lines.size() == 1);
    return lines.empty() ? "" : lines.front();
}

}  // namespace

TEST_CASE("a check finds nothing wrong with a task that keeps its promises") {
    CHECK(broken("none").empty());
    CHECK(broken("column_handled").empty());
    hpo::TrainerJob in_bf16 = job();
    in_bf16.plan.precision = hpo::Precision::bf16;
    CHECK(broken("none", in_bf16).empty());
    const auto violations = hpo::testing::trainer_contract_violations([] { return std::make_unique<FlawedTrainer>("none"); }, job());
    for (const auto& violation : violations) UNSCOPED_INFO(violation.where << ": " << violation.what);
    CHECK(violations.empty());
}

TEST_CASE("a check notices a loss that does not add up over the examples of a batch") {
    CHECK_THAT(only("mean"), Catch::StartsWith("loss_sum: it is a mean over the batch: ") && Catch::Contains("for 2 examples together") &&
                                 Catch::EndsWith("expected the sum over the batch's examples"));
    CHECK_THAT(only("square"), Catch::StartsWith("loss_sum: it does not add up: "));
    CHECK_THAT(only("mean_of_column"), Catch::StartsWith("loss_sum: it "));
    CHECK(only("vector") == "loss_sum: its loss has shape [2]; expected one number, the sum over the batch's examples");
    CHECK(only("undefined") == "loss_sum: its loss is not defined; expected one number, the sum over the batch's examples");
    CHECK(only("whole") == "loss_sum: its loss is of type Long, which has no gradient; expected a number with a fraction");
}

TEST_CASE("a check notices outputs that are held against targets of another shape") {
    CHECK_THAT(only("column"), Catch::StartsWith("loss_sum: outputs of shape [2, 1] are held against targets of shape [2], which LibTorch "
                                                 "widens to [2, 2]: "));
    CHECK(only("input") == "training_batch: input 1 of shape [7] for 2 examples; expected a first dimension that counts the examples");
}

TEST_CASE("a check notices a loss from which nothing learns") {
    CHECK_THAT(only("detached"), Catch::StartsWith("loss_sum: its loss has no gradient, so nothing would learn"));
    const auto lines = broken("elsewhere");
    REQUIRE_FALSE(lines.empty());
    CHECK_THAT(lines.front(), Catch::Contains("no parameter of the model gets a gradient"));
}

TEST_CASE("a check notices gradients that are all 0 or not finite, and a step that changes no weight") {
    CHECK(only("zero") ==
          "backward: the gradients of all 4 parameters that learn are 0 for two examples and an untrained model; expected "
          "some that are not");
    CHECK(only("root_of_zero") ==
          "backward: the gradient of parameter 'layer.weight' is not finite for two examples and an untrained "
          "model; expected finite ones");
    CHECK(only("too_large_to_move") ==
          "training step: it changes none of the 4 parameters that learn, at a learning rate of 0.001; expected "
          "other weights after a step");
    hpo::TrainerJob slow = job();
    slow.params["optim.lr"] = 1e-9;  // rounding may swallow such a step: no mistake of the task
    CHECK(broken("too_large_to_move", slow).empty());
}

TEST_CASE("a check says what it looked at, once for the same data") {
    FlawedTrainer trainer{"none"};
    struct Log final : hpo::Progress {
        bool report(std::int64_t, double) override { return true; }
        [[nodiscard]] bool stop_requested() const override { return false; }
        void memory(const hpo::MemoryMark&) override {}
        void log(std::string_view line) override { lines.emplace_back(line); }
        std::vector<std::string> lines;
    };
    Log first;
    REQUIRE(trainer.stoppable_check(job(), first).empty());
    CHECK(first.lines ==
          std::vector<std::string>{"looked at 30 training examples: inputs are finite; none repeats another",
                                   "not looked at: the held-out examples one by one, because the trainer does not give them",
                                   "looked at the gradients of 4 parameters for two examples: they are finite; 2 of them got "
                                   "none, the first is 'norm.weight'",
                                   "looked at one training step: it changes the weights"});
    Log second;
    REQUIRE(trainer.stoppable_check(job(), second).empty());
    CHECK(second.lines.empty());
}

TEST_CASE("a check notices an evaluation that lacks a metric") {
    const auto lines = broken("metric");
    REQUIRE(lines.size() == 2);
    CHECK(lines[0] == "evaluate: it does not tell the metric 'error', which describe() names; it tells: rmse");
    CHECK_THAT(only("casts"), Catch::StartsWith("evaluate: it casts the model to another type; expected nothing of the model but forward"));
    CHECK(broken("long").empty());  // too many passes for a check
    CHECK(only("second_metric") == "evaluate: it does not tell the metric 'worst', which describe() names; it tells: error");
}

TEST_CASE("a check notices an evaluation that passes more examples at once than its plan allows") {
    CHECK_THAT(only("whole_evaluation"), Catch::StartsWith("evaluate: it passes 40 examples through the model at once") &&
                                             Catch::Contains("expected at most plan.batch_examples, here "));
}

TEST_CASE("a check notices an evaluation that leaves the model in training mode") {
    CHECK(only("train") == "evaluate: it leaves the model in training mode; expected evaluation mode");
    CHECK(broken("train_and_back").empty());
}

TEST_CASE("a check notices examples that depend on each other where the task does not say so, with dropout, too") {
    const std::string problem =
        "mixes_examples: an example's outputs in training change with the other examples of its micro-batch, as those of batch norm do, "
        "and the task does not say so; expected mixes_examples() to return true";
    CHECK(only("batch_norm") == problem);
    CHECK(only("dropout batch_norm") == problem);
    CHECK(only("noise batch_norm") == problem);
    for (const char* const flaw : {"declared batch_norm", "dropout", "noise", "noise frozen_norm"}) {
        CAPTURE(flaw);
        CHECK(broken(flaw).empty());
    }
}

TEST_CASE("a check notices a build that seeds LibTorch's generator") {
    CHECK(only("seed") ==
          "build: it seeds LibTorch's generator; expected that it leaves it alone, since the trial's seed was given to it before");
}

TEST_CASE("a check tells its phases as it goes, and a training does not") {
    struct Listener final : hpo::Progress {
        std::vector<std::string> told;
        bool report(std::int64_t, double) override { return true; }
        [[nodiscard]] bool stop_requested() const override { return false; }
        void memory(const hpo::MemoryMark&) override {}
        void log(std::string_view) override {}
        void phase(std::string_view name) override { told.emplace_back(name); }
    };
    FlawedTrainer trainer{"none"};
    Listener check;
    CHECK(trainer.stoppable_check(job(), check).empty());
    for (const char* const phase : {"build", "forward", "backward", "evaluation"}) {
        CAPTURE(phase);
        CHECK(std::count(check.told.begin(), check.told.end(), std::string{phase}) > 0);
    }
    Listener training;
    CHECK(trainer.run(job(), training).kind == hpo::OutcomeKind::complete);
    CHECK(training.told.empty());
}
