// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/torch/adaptation/adapted_linear.hpp"
#include "hpo/torch/torch_trainer.hpp"
#include "hpo/torch/training/evaluation.hpp"

/// What the tests of the training loop train: a small network on random points.
namespace points {

using namespace hpo::libtorch;

/// Keeps what it is told; stops after `stop_after` reports.
struct Recorder final : hpo::Progress {
    std::vector<hpo::Report> reports;
    std::vector<hpo::MemoryMark> marks;
    std::vector<std::string> lines;
    std::optional<std::int64_t> last;  ///< step, as it was told
    std::int64_t stop_after = 1000;
    bool stop = false;

    bool report(std::int64_t step, double value) override {
        reports.push_back({step, value});
        return static_cast<std::int64_t>(reports.size()) < stop_after;
    }
    void last_step(std::int64_t step) override { last = step; }
    [[nodiscard]] bool stop_requested() const override { return stop; }
    void memory(const hpo::MemoryMark& mark) override { marks.push_back(mark); }
    void log(std::string_view line) override { lines.emplace_back(line); }

    [[nodiscard]] std::vector<std::string> mark_names() const {
        std::vector<std::string> names;
        for (const auto& mark : marks) names.push_back(mark.name);
        return names;
    }
};

struct TwoLayers final : Model {
    TwoLayers() {
        first = register_module("first", Linear{6, 16});
        dropout = register_module("dropout", torch::nn::Dropout{0.5});
        second = register_module("second", Linear{16, 3});
    }
    Outputs forward(const Batch& batch) override { return second(torch::tanh(first(batch.inputs.at(0)))); }
    Linear first{nullptr};
    torch::nn::Dropout dropout{nullptr};
    Linear second{nullptr};
};

/// 50 random points in three classes, which the first three coordinates tell; single members can be broken for tests of the checks.
struct Points final : Task {
    Points() {
        torch::manual_seed(7);
        x = torch::randn({50, 6});
        y = x.slice(1, 0, 3).argmax(1);  // learnable
    }
    std::shared_ptr<Model> build() override { return make_model(); }
    [[nodiscard]] std::int64_t training_examples() const override { return x.size(0); }
    [[nodiscard]] Batch training_batch(std::span<const std::int64_t> examples, torch::Device device) const override {
        if (throws_in_batch) throw std::runtime_error{"no such example"};
        const auto chosen = torch::tensor(std::vector<std::int64_t>(examples.begin(), examples.end()), torch::kLong);
        return {{x.index_select(0, chosen).to(moves_inputs ? device : torch::Device{torch::kCPU})}, y.index_select(0, chosen).to(device)};
    }
    [[nodiscard]] torch::Tensor loss_sum(const Outputs& outputs, const Batch& batch) const override {
        return torch::nn::functional::cross_entropy(outputs, batch.targets,
                                                    torch::nn::functional::CrossEntropyFuncOptions{}.reduction(torch::kSum)) *
               loss_factor;
    }
    [[nodiscard]] Metrics evaluate(Model& model, const EvaluationPlan& plan) const override {
        if (scripted < script.size()) return {{"accuracy", script[scripted++]}};
        const auto batch_of = [&](std::span<const std::int64_t> rows) {
            const std::int64_t first = rows.front(), end = rows.back() + 1;
            return Batch{{x.slice(0, first, end).to(plan.device)}, y.slice(0, first, end).to(plan.device)};
        };
        return {{"accuracy", score_classifier(model, {.examples = y.size(0), .classes = 3}, plan, batch_of).accuracy()}};
    }
    [[nodiscard]] std::optional<std::int64_t> classes() const override { return told_classes; }
    [[nodiscard]] bool mixes_examples() const override { return mixes; }
    [[nodiscard]] std::vector<std::string> layers() const override { return parts; }
    void finish(Model& model, const EvaluationPlan&, hpo::Attributes&) const override { at_end(model); }

    std::function<std::shared_ptr<Model>()> make_model = [] { return std::make_shared<TwoLayers>(); };
    torch::Tensor x;
    torch::Tensor y;
    double loss_factor = 1;
    std::int64_t told_classes = 3;
    bool mixes = false;
    bool moves_inputs = true;
    bool throws_in_batch = false;
    std::vector<std::string> parts{"first", "second"};
    std::vector<double> script;  ///< what the first evaluations answer
    mutable std::size_t scripted = 0;
    std::function<void(Model&)> at_end = [](Model&) {};
};

/// A trainer over Points, whose task a test may break first.
struct PointsTrainer final : TorchTrainer {
    std::function<void(Points&)> change = [](Points&) {};
    hpo::TrainerInfo describe() const override {
        hpo::TrainerInfo info;
        info.name = "points";
        info.metrics = {{"accuracy", hpo::Direction::maximize, ""}};
        return info;
    }
    std::unique_ptr<Task> make_task(const hpo::Settings&, const hpo::TrainerJob&) override {
        auto task = std::make_unique<Points>();
        change(*task);
        return task;
    }
};

inline hpo::TrainerJob job(std::int64_t effective, std::int64_t micro) {
    hpo::TrainerJob job;
    job.params = {{"train.batch_size", effective}, {"optim.lr", 0.01}};
    job.options = {{"epochs", std::int64_t{4}}, {"threads", std::int64_t{1}}};
    job.metric = "accuracy";
    job.plan.effective_batch = effective;
    job.plan.micro_batch = micro;
    job.seed = 11;
    return job;
}

}  // namespace points
