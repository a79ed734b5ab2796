// SPDX-License-Identifier: MIT
// The trainer 'sine_trainer': a small network that learns a sine. Replace the data, the model and the loss by yours.
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hpo/torch/adaptation/adapted_linear.hpp"
#include "hpo/torch/torch_trainer.hpp"
#include "hpo/trainer/declare.hpp"
#include "hpo/trainer/plugin.hpp"

namespace {

using torch::Tensor;
namespace declare = hpo::declare;

/// [examples, 1] -> [examples]: outputs have the shape of the targets.
struct Net final : hpo::libtorch::Model {
    explicit Net(std::int64_t width) {
        hidden = register_module("hidden", hpo::libtorch::Linear{1, width});
        head = register_module("head", hpo::libtorch::Linear{width, 1});
    }
    hpo::libtorch::Outputs forward(const hpo::libtorch::Batch& batch) override {
        return head(torch::tanh(hidden(batch.inputs[0]))).squeeze(1);
    }
    hpo::libtorch::Linear hidden{nullptr};
    hpo::libtorch::Linear head{nullptr};
};

/// What a trial needs of data, model and loss. The training loop, its device and its memory are hpo's.
class SineTask final : public hpo::libtorch::Task {
public:
    SineTask(std::int64_t train, std::int64_t held_out, std::int64_t width) : train_{train}, held_out_{held_out}, width_{width} {
        const hpo::libtorch::Unmetered data_set;  // the data lies on the host, so it does not count as device memory
        const auto draws = at::make_generator<at::CPUGeneratorImpl>(/*seed=*/std::uint64_t{1});
        x_ = torch::empty({train + held_out, 1}).uniform_(-1, 1, draws);
        y_ = torch::sin(3 * x_).squeeze(1);
    }
    std::shared_ptr<hpo::libtorch::Model> build() override { return std::make_shared<Net>(width_); }
    std::vector<std::string> layers() const override { return {"hidden", "head"}; }
    std::int64_t training_examples() const override { return train_; }
    hpo::libtorch::Batch training_batch(std::span<const std::int64_t> examples, torch::Device device) const override {
        const Tensor chosen = torch::tensor(std::vector<std::int64_t>(examples.begin(), examples.end()), torch::kLong);
        return {{x_.index_select(0, chosen).to(device)}, y_.index_select(0, chosen).to(device)};
    }
    /// The sum over the batch's examples, not their mean.
    Tensor loss_sum(const hpo::libtorch::Outputs& outputs, const hpo::libtorch::Batch& batch) const override {
        return (outputs - batch.targets).pow(2).sum();
    }
    /// Every metric that describe() names, on examples that are not trained on.
    hpo::libtorch::Metrics evaluate(hpo::libtorch::Model& model, const hpo::libtorch::EvaluationPlan& plan) const override {
        double sum = 0;
        for (std::int64_t at = train_; at < x_.size(0); at += plan.batch_examples) {
            const std::int64_t end = std::min(at + plan.batch_examples, x_.size(0));
            const hpo::libtorch::Batch batch{{x_.slice(0, at, end).to(plan.device)}, y_.slice(0, at, end).to(plan.device)};
            sum += loss_sum(model.forward(batch).in_fp32(), batch).item<double>();
        }
        return {{"error", sum / static_cast<double>(held_out_)}};
    }
    /// What the trial keeps besides its metrics.
    void finish(hpo::libtorch::Model&, const hpo::libtorch::EvaluationPlan&, hpo::Attributes& attributes) const override {
        attributes.set_text("data_hash", "sine of " + std::to_string(x_.size(0)));
        attributes.set_number("validation_examples", held_out_);
    }

private:
    std::int64_t train_;
    std::int64_t held_out_;
    std::int64_t width_;
    Tensor x_;  ///< [examples, 1]
    Tensor y_;  ///< [examples]
};

class SineTrainer final : public hpo::libtorch::TorchTrainer {
    hpo::TrainerInfo describe() const override {
        return {.name = "sine_trainer",
                .summary = "a small network that learns a sine",
                .parameters = {declare::integer("model.width", 1, 65536, {.standard = 32, .help = "hidden units"}),
                               declare::integer("train_examples", 1, 1000000, {.standard = 512, .help = "examples to train on"}),
                               declare::integer("validation_examples", 1, 1000000, {.standard = 256, .help = "examples held out"})},
                .metrics = {{"error", hpo::Direction::minimize, "mean squared error on examples held out"}}};
    }
    std::unique_ptr<hpo::libtorch::Task> make_task(const hpo::Settings& settings, const hpo::TrainerJob&) override {
        return std::make_unique<SineTask>(settings.whole("train_examples"), settings.whole("validation_examples"),
                                          settings.whole("model.width"));
    }
};

}  // namespace

HPO_TRAINER_PLUGIN(SineTrainer);
