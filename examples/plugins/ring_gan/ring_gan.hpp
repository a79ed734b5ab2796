// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hpo/torch/adaptation/adapted_linear.hpp"
#include "hpo/torch/own_step.hpp"
#include "hpo/torch/torch_trainer.hpp"
#include "hpo/trainer/declare.hpp"

namespace ring_gan {

using torch::Tensor;

/// Two linear layers with a rectifier between.
struct Network final : torch::nn::Module {
    Network(std::int64_t inputs, std::int64_t width, std::int64_t outputs) {
        hidden = register_module("hidden", hpo::libtorch::Linear{inputs, width});
        head = register_module("head", hpo::libtorch::Linear{width, outputs});
    }
    Tensor forward(const Tensor& x) { return head(torch::relu(hidden(x))); }
    hpo::libtorch::Linear hidden{nullptr};
    hpo::libtorch::Linear head{nullptr};
};

/// A generator that makes points from noise, and a discriminator that tells them from the data's points (Goodfellow et al. 2014).
struct Gan final : hpo::libtorch::Model {
    static constexpr std::int64_t noise = 4;  ///< random numbers for one point

    explicit Gan(std::int64_t width) {
        generator = register_module("generator", std::make_shared<Network>(noise, width, 2));
        discriminator = register_module("discriminator", std::make_shared<Network>(2, width, 1));
    }
    /// Makes points, [examples, 2], from noise, [examples, noise].
    hpo::libtorch::Outputs forward(const hpo::libtorch::Batch& batch) override { return generator->forward(batch.inputs[0]); }
    std::shared_ptr<Network> generator;
    std::shared_ptr<Network> discriminator;
};

/// The number of points.
struct Points {
    std::int64_t train = 2000;
    std::int64_t held_out = 500;
};

/// A GAN learns to imitate points on a ring of radius 1.
class RingTask final : public hpo::libtorch::OwnStepTask {
public:
    struct Options {
        std::int64_t width = 64;
        double generator_rate = 0.3;  ///< its learning rate as a share of the discriminator's
        double blur = 0.5;            ///< standard deviation of the noise on what the discriminator sees
    };

    RingTask(const Points& points, const Options& options) : points_{points}, options_{options} {
        const hpo::libtorch::Unmetered data_set;
        const auto draws = at::make_generator<at::CPUGeneratorImpl>(/*seed=*/std::uint64_t{1});
        const Tensor angle = torch::empty({points.train + points.held_out}).uniform_(0, 6.2831853, draws);
        ring_ = torch::stack({angle.cos(), angle.sin()}, 1);
        noise_ = torch::empty({points.held_out, Gan::noise}).normal_(0, 1, draws);
    }
    std::shared_ptr<hpo::libtorch::Model> build() override { return std::make_shared<Gan>(options_.width); }
    std::int64_t training_examples() const override { return points_.train; }
    hpo::libtorch::Batch training_batch(std::span<const std::int64_t> examples, torch::Device device) const override {
        const Tensor chosen = torch::tensor(std::vector<std::int64_t>(examples.begin(), examples.end()), torch::kLong);
        const Tensor points = ring_.index_select(0, chosen).to(device);
        return {{points}, points};
    }
    double training_step(hpo::libtorch::TrainingStep& step) const override {
        auto& gan = step.model<Gan>();
        const auto noise_for = [&](const hpo::libtorch::Batch& batch) {
            return torch::randn({batch.examples(), Gan::noise}, step.device());
        };
        // The discriminator sees blurred points. Without the blur the two networks do not settle (Mescheder et al. 2018, section 3.2).
        const auto judged = [&](const Tensor& points) {
            return gan.discriminator->forward(points + options_.blur * torch::randn_like(points));
        };
        double loss = 0;
        step.each_micro_batch([&](const hpo::libtorch::Batch& batch) {
            const auto told = step.in_precision([&]() -> hpo::libtorch::Outputs {
                const Tensor made = gan.generator->forward(noise_for(batch)).detach();
                return {{judged(batch.inputs[0]), judged(made)}};
            });
            loss += step.backward(torch::softplus(-told[0]).sum() + torch::softplus(told[1]).sum());
        });
        step.update("discriminator");
        step.each_micro_batch([&](const hpo::libtorch::Batch& batch) {
            const Tensor told = step.in_precision([&] { return judged(gan.generator->forward(noise_for(batch))); });
            loss += step.backward(torch::softplus(-told).sum());
        });
        step.update("generator", options_.generator_rate);
        return loss;
    }
    hpo::libtorch::Metrics evaluate(hpo::libtorch::Model& model, const hpo::libtorch::EvaluationPlan& plan) const override {
        std::vector<Tensor> made;
        for (std::int64_t at = 0; at < points_.held_out; at += plan.batch_examples) {
            const Tensor noise = noise_.slice(0, at, std::min(at + plan.batch_examples, points_.held_out)).to(plan.device);
            made.push_back(model.forward({{noise}, noise}).in_fp32().only().to(torch::kCPU));
        }
        const hpo::libtorch::Unmetered on_the_host;
        const Tensor points = torch::cat(made);
        const Tensor held_out = ring_.slice(0, points_.train);
        const auto apart = [](const Tensor& a, const Tensor& b) { return torch::cdist(a, b).mean().item<double>(); };
        const double distance = 2 * apart(points, held_out) - apart(points, points) - apart(held_out, held_out);
        log("mean radius of the points made: " + std::to_string(points.norm(2, 1).mean().item<double>()));
        return {{"distance", distance}};
    }

private:
    Points points_;
    Options options_;
    Tensor ring_;   ///< [points, 2]
    Tensor noise_;  ///< [held out, Gan::noise]
};

class RingGan final : public hpo::libtorch::TorchTrainer {
    hpo::TrainerInfo describe() const override {
        using namespace hpo::declare;
        return {.name = "ring_gan",
                .summary = "a generator and a discriminator, each with its own updates, on points of a ring",
                .parameters = {integer("model.width", 1, 65536, {.standard = 64, .help = "hidden units of both networks"}),
                               real("optim.generator_rate", 0, 100,
                                    {.standard = 0.3, .help = "the generator's learning rate as a share of the discriminator's"},
                                    Bounds::neither),
                               real("train.blur", 0, 10, {.standard = 0.5, .help = "noise on the points that the discriminator sees"}),
                               integer("train_examples", 1, 1000000, {.standard = 2000, .help = "points to train on"}),
                               integer("validation_examples", 1, 10000, {.standard = 500, .help = "points held out for the metric"})},
                .metrics = {{"distance", hpo::Direction::minimize, "energy distance to points held out (Szekely and Rizzo 2013)"}}};
    }
    std::unique_ptr<hpo::libtorch::Task> make_task(const hpo::Settings& settings, const hpo::TrainerJob&) override {
        return std::make_unique<RingTask>(
            Points{settings.whole("train_examples"), settings.whole("validation_examples")},
            RingTask::Options{settings.whole("model.width"), settings.number("optim.generator_rate"), settings.number("train.blur")});
    }
};

}  // namespace ring_gan
