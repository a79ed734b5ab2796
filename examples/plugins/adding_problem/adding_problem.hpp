// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/CPUGeneratorImpl.h>

#include "hpo/torch/adapted_linear.hpp"
#include "hpo/torch/torch_trainer.hpp"
#include "hpo/trainer/declare.hpp"

namespace adding_problem {

using ::torch::Tensor;

struct Shape {
    std::int64_t width = 32;
    std::int64_t layers = 1;
    double dropout = 0;  ///< between layers
};

/// Sequences of pairs, [examples, length, 2], through an LSTM; its last state through a linear layer.
struct Memory final : hpo::torch::Model {
    explicit Memory(const Shape& shape) {
        auto options = ::torch::nn::LSTMOptions{2, shape.width}.num_layers(shape.layers).dropout(shape.dropout).batch_first(true);
        lstm = register_module("lstm", ::torch::nn::LSTM{options});
        head = register_module("head", hpo::torch::Linear{shape.width, 1});
    }
    hpo::torch::Outputs forward(const hpo::torch::Batch& batch) override {
        const Tensor states = std::get<0>(lstm(batch.inputs[0]));
        return head(states.select(1, -1)).squeeze(1);
    }
    ::torch::nn::LSTM lstm{nullptr};
    hpo::torch::Linear head{nullptr};
};

/// Which sequences there are; the first `train` are trained on.
struct Sequences {
    std::int64_t train = 2000;
    std::int64_t held_out = 500;
    std::int64_t length = 20;
};

/// The adding problem (Hochreiter and Schmidhuber 1997): numbers from -1 to 1, of which one in each half of the sequence is marked; the
/// target is the sum of these two. Who predicts the mean is wrong by 2/3, squared.
class AddingTask final : public hpo::torch::Task {
public:
    AddingTask(const Sequences& sequences, const Shape& shape) : sequences_{sequences}, shape_{shape} {
        const hpo::torch::Unmetered data_set;  // lives on the host: not the device's memory
        const std::int64_t rows = sequences.train + sequences.held_out;
        const std::int64_t half = sequences.length / 2;
        const auto draws = at::make_generator<at::CPUGeneratorImpl>(/*seed=*/std::uint64_t{1});
        const Tensor numbers = ::torch::empty({rows, sequences.length}).uniform_(-1, 1, draws);
        const Tensor first = ::torch::randint(half, {rows, 1}, draws);
        const Tensor second = ::torch::randint(half, sequences.length, {rows, 1}, draws);
        const Tensor marks = ::torch::zeros_like(numbers).scatter_(1, first, 1).scatter_(1, second, 1);
        x_ = ::torch::stack({numbers, marks}, 2);
        y_ = (numbers * marks).sum(1);
    }
    std::shared_ptr<hpo::torch::Model> build() override { return std::make_shared<Memory>(shape_); }
    std::vector<std::string> layers() const override { return {"lstm", "head"}; }
    std::int64_t training_examples() const override { return sequences_.train; }
    hpo::torch::Batch training_batch(std::span<const std::int64_t> examples, ::torch::Device device) const override {
        const Tensor chosen = ::torch::tensor(std::vector<std::int64_t>(examples.begin(), examples.end()), ::torch::kLong);
        return {{x_.index_select(0, chosen).to(device)}, y_.index_select(0, chosen).to(device)};
    }
    Tensor loss_sum(const hpo::torch::Outputs& outputs, const hpo::torch::Batch& batch) const override {
        return (outputs - batch.targets).pow(2).sum();
    }
    hpo::torch::Metrics evaluate(hpo::torch::Model& model, const hpo::torch::EvaluationPlan& plan) const override {
        double sum = 0;
        for (std::int64_t at = sequences_.train; at < x_.size(0); at += plan.batch_examples) {
            const std::int64_t end = std::min(at + plan.batch_examples, x_.size(0));
            const hpo::torch::Batch batch{{x_.slice(0, at, end).to(plan.device)}, y_.slice(0, at, end).to(plan.device)};
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

class AddingProblem final : public hpo::torch::TorchTrainer {
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
    std::unique_ptr<hpo::torch::Task> make_task(const hpo::Settings& settings, const hpo::TrainerJob&) override {
        return std::make_unique<AddingTask>(
            Sequences{settings.whole("train_examples"), settings.whole("validation_examples"), settings.whole("length")},
            Shape{settings.whole("model.width"), settings.whole("model.layers"), settings.number("model.dropout")});
    }
};

}  // namespace adding_problem
