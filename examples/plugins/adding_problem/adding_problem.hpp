// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/CPUGeneratorImpl.h>

#include "hpo/torch/adaptation/adapted_linear.hpp"
#include "hpo/torch/torch_trainer.hpp"
#include "hpo/trainer/declare.hpp"

namespace adding_problem {

using torch::Tensor;

struct Shape {
    std::int64_t width = 32;
    std::int64_t layers = 1;
    double dropout = 0;  ///< between layers
};

/// Sequences of pairs, [examples, length, 2], through an LSTM. Its last state goes through a linear layer.
struct Memory final : hpo::libtorch::Model {
    explicit Memory(const Shape& shape) {
        auto options = torch::nn::LSTMOptions{2, shape.width}.num_layers(shape.layers).dropout(shape.dropout).batch_first(true);
        lstm = register_module("lstm", torch::nn::LSTM{options});
        head = register_module("head", hpo::libtorch::Linear{shape.width, 1});
    }
    hpo::libtorch::Outputs forward(const hpo::libtorch::Batch& batch) override {
        const Tensor states = std::get<0>(lstm(batch.inputs[0]));
        return head(states.select(1, -1)).squeeze(1);
    }
    torch::nn::LSTM lstm{nullptr};
    hpo::libtorch::Linear head{nullptr};
};

/// How many sequences there are, and their length. The first `train` are for training.
struct Sequences {
    std::int64_t train = 2000;
    std::int64_t held_out = 500;
    std::int64_t length = 20;
};

/// The adding problem (Hochreiter and Schmidhuber 1997). A sequence holds numbers from -1 to 1, and one in each half is marked. The target
/// is the sum of the two marked numbers. A model that always predicts the mean has a mean squared error of 2/3.
class AddingTask final : public hpo::libtorch::Task {
public:
    AddingTask(const Sequences& sequences, const Shape& shape) : sequences_{sequences}, shape_{shape} {
        const hpo::libtorch::Unmetered data_set;  // the data lies on the host, so it does not count as device memory
        const std::int64_t rows = sequences.train + sequences.held_out;
        const std::int64_t half = sequences.length / 2;
        const auto draws = at::make_generator<at::CPUGeneratorImpl>(/*seed=*/std::uint64_t{1});
        const Tensor numbers = torch::empty({rows, sequences.length}).uniform_(-1, 1, draws);
        const Tensor first = torch::randint(half, {rows, 1}, draws);
        const Tensor second = torch::randint(half, sequences.length, {rows, 1}, draws);
        const Tensor marks = torch::zeros_like(numbers).scatter_(1, first, 1).scatter_(1, second, 1);
        x_ = torch::stack({numbers, marks}, 2);
        y_ = (numbers * marks).sum(1);
    }
    std::shared_ptr<hpo::libtorch::Model> build() override { return std::make_shared<Memory>(shape_); }
    std::vector<std::string> layers() const override { return {"lstm", "head"}; }
    std::int64_t training_examples() const override { return sequences_.train; }
    hpo::libtorch::Batch training_batch(std::span<const std::int64_t> examples, torch::Device device) const override {
        const Tensor chosen = torch::tensor(std::vector<std::int64_t>(examples.begin(), examples.end()), torch::kLong);
        return {{x_.index_select(0, chosen).to(device)}, y_.index_select(0, chosen).to(device)};
    }
    Tensor loss_sum(const hpo::libtorch::Outputs& outputs, const hpo::libtorch::Batch& batch) const override {
        return (outputs - batch.targets).pow(2).sum();
    }
    hpo::libtorch::Metrics evaluate(hpo::libtorch::Model& model, const hpo::libtorch::EvaluationPlan& plan) const override {
        double sum = 0;
        for (std::int64_t at = sequences_.train; at < x_.size(0); at += plan.batch_examples) {
            const std::int64_t end = std::min(at + plan.batch_examples, x_.size(0));
            const hpo::libtorch::Batch batch{{x_.slice(0, at, end).to(plan.device)}, y_.slice(0, at, end).to(plan.device)};
            sum += loss_sum(model.forward(batch).in_fp32(), batch).item<double>();
        }
        return {{"error", sum / static_cast<double>(sequences_.held_out)}};
    }

private:
    Sequences sequences_;
    Shape shape_;
    Tensor x_;  ///< [sequences, length, 2]
    Tensor y_;  ///< [sequences]
};

class AddingProblem final : public hpo::libtorch::TorchTrainer {
    hpo::TrainerInfo describe() const override {
        using namespace hpo::declare;
        return {.name = "adding_problem",
                .summary = "an LSTM that adds the two marked numbers of a sequence",
                .parameters = {integer("model.width", 1, 65536, {.standard = 32, .help = "units of the LSTM's state"}),
                               integer("model.layers", 1, 64, {.standard = 1, .help = "LSTMs, each over the states of the one before"}),
                               real("model.dropout", 0, 1, {.standard = 0.0, .help = "share of states dropped between them"}, Bounds::low),
                               integer("length", 2, 100000, {.standard = 20, .help = "numbers of a sequence"}),
                               integer("train_examples", 1, 1000000, {.standard = 2000, .help = "sequences to train on"}),
                               integer("validation_examples", 1, 1000000, {.standard = 500, .help = "sequences held out for the metric"})},
                .metrics = {{"error", hpo::Direction::minimize, "mean squared error on sequences held out"}},
                .length_parameter = "length"};
    }
    std::unique_ptr<hpo::libtorch::Task> make_task(const hpo::Settings& settings, const hpo::TrainerJob&) override {
        return std::make_unique<AddingTask>(
            Sequences{settings.whole("train_examples"), settings.whole("validation_examples"), settings.whole("length")},
            Shape{settings.whole("model.width"), settings.whole("model.layers"), settings.number("model.dropout")});
    }
};

}  // namespace adding_problem
