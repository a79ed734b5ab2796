// SPDX-License-Identifier: MIT
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "hpo/torch/adaptation/adapted_conv2d.hpp"
#include "hpo/torch/adaptation/adapted_linear.hpp"
#include "hpo/torch/adaptation/tuning.hpp"
#include "hpo/torch/autocast.hpp"
#include "hpo/torch/checkpointing.hpp"
#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/training/batch_loader.hpp"
#include "hpo/torch/training/loss_scale.hpp"
#include "hpo/torch/training/optimizer.hpp"
#include "points.hpp"
#include "support/catch.hpp"
#include "torch/adaptation/model_parts.hpp"
#include "torch/training/adafactor.hpp"
#include "torch/training/finish_gradients.hpp"

using namespace hpo::libtorch;
using namespace points;

namespace {

/// Parameters by name, copied.
using Weights = std::map<std::string, torch::Tensor>;

Weights weights_of(const torch::nn::Module& model) {
    Weights weights;
    for (const auto& item : model.named_parameters()) weights.emplace(item.key(), item.value().detach().clone());
    return weights;
}

/// The weights that a job ends with.
Weights trained(
    const hpo::TrainerJob& job, const std::function<void(Points&)>& change = [](Points&) {}) {
    Weights weights;
    PointsTrainer trainer;
    trainer.change = [&](Points& task) {
        change(task);
        task.at_end = [&](Model& model) { weights = weights_of(model); };
    };
    Recorder recorder;
    const auto outcome = trainer.run(job, recorder);
    CAPTURE(outcome.failure ? outcome.failure->message : "");
    REQUIRE(outcome.kind == hpo::OutcomeKind::complete);
    return weights;
}

/// What a Points model begins with under a job's seed.
Weights untrained(const hpo::TrainerJob& job) {
    auto still = job;
    still.params["optim.kind"] = std::string{"sgd"};
    still.params["optim.lr"] = 1e-30;
    still.options["epochs"] = std::int64_t{1};
    return trained(still);
}

double distance(const torch::Tensor& a, const torch::Tensor& b) { return (a - b).norm().item<double>(); }

std::string refusal(const hpo::TrainerJob& job) {
    PointsTrainer trainer;
    Recorder recorder;
    const auto problems = trainer.check(job);
    const auto outcome = trainer.run(job, recorder);
    REQUIRE(outcome.failure);
    REQUIRE(problems.size() == 1);
    CHECK_THAT(outcome.failure->message, Catch::Contains(problems[0].what));
    return outcome.failure->message;
}

/// Linear layers of one width, the first four parts of six; each is a segment.
struct Tower final : Model {
    explicit Tower(bool recompute = false) : recompute_{recompute} {
        for (int i = 0; i < 6; ++i) layers.push_back(register_module("layer" + std::to_string(i), Linear{64, 64}));
    }
    Outputs forward(const Batch& batch) override {
        torch::Tensor x = batch.inputs.at(0);
        for (Linear& layer : layers) {
            const Segment segment = [layer](const torch::Tensor& input) mutable { return torch::tanh(torch::relu(layer(input))); };
            x = recompute_ ? recomputed(*layer, segment, x) : segment(x);
        }
        return x;
    }
    std::vector<Linear> layers;

private:
    bool recompute_;
};

const std::vector<std::string> tower_parts{"layer0", "layer1", "layer2", "layer3", "layer4", "layer5"};

/// Bytes that a pass over 256 examples leaves for the backward pass.
std::int64_t held_by_pass(Model& model, hpo::Precision precision = hpo::Precision::fp32) {
    MeteredAllocator::install();
    const Batch batch{{torch::ones({256, 64})}, torch::zeros({256}, torch::kLong)};
    const auto before = MeteredAllocator::instance().allocated_bytes();
    torch::Tensor output;
    {
        const Autocast autocast{torch::kCPU, precision};
        output = model.forward(batch);
    }
    return MeteredAllocator::instance().allocated_bytes() - before;
}

}  // namespace

TEST_CASE("clipping holds the norm of a whole step's gradients, however they were accumulated") {
    auto first = torch::zeros({3}, torch::requires_grad());
    auto second = torch::zeros({2, 2}, torch::requires_grad());
    auto without_gradient = torch::zeros({5}, torch::requires_grad());
    first.mutable_grad() = torch::tensor({3.0F, 0.0F, 4.0F});
    second.mutable_grad() = torch::full({2, 2}, 6.0F);
    Optimizer optimizer{{.kind = OptimizerKind::sgd}, {{{first}}, {{second, without_gradient}}}};
    const double norm = std::sqrt(9.0 + 16 + 4 * 36);
    CHECK(gradient_norm(optimizer) == Approx(norm));
    LossScale scale;
    CHECK(finish_gradients(optimizer, scale, 2 * norm));
    CHECK(second.grad()[0][0].item<float>() == 6.0F);
    CHECK(finish_gradients(optimizer, scale, 1.5));
    CHECK(gradient_norm(optimizer) == Approx(1.5));
    CHECK(first.grad()[2].item<double>() == Approx(4 * 1.5 / norm));

    auto clipped = job(50, 50);
    clipped.params["optim.kind"] = std::string{"sgd"};
    clipped.params["optim.momentum"] = 0.0;
    clipped.params["optim.lr"] = 1.0;
    clipped.params["optim.clip_norm"] = 0.01;
    clipped.options["epochs"] = std::int64_t{1};
    const Weights before = untrained(clipped);
    const auto moved = [&](const Weights& after) {
        double square = 0;
        for (const auto& [name, weight] : after) square += std::pow(distance(weight, before.at(name)), 2);
        return std::sqrt(square);
    };
    const Weights whole = trained(clipped);
    CHECK(moved(whole) == Approx(0.01).epsilon(1e-3));
    clipped.plan.micro_batch = 7;
    const Weights parts = trained(clipped);
    for (const auto& [name, weight] : whole) CHECK(distance(weight, parts.at(name)) < 1e-6);
    clipped.params["optim.clip_norm"] = 0.0;
    CHECK(moved(trained(clipped)) > 0.05);
}

TEST_CASE("gradients that are not finite end a clipped attempt") {
    auto parameter = torch::zeros({2}, torch::requires_grad());
    parameter.mutable_grad() = torch::full({2}, std::numeric_limits<float>::infinity());
    Optimizer optimizer{{}, {{{parameter}}}};
    LossScale scale;
    CHECK(finish_gradients(optimizer, scale, 0));
    CHECK_THROWS_AS(finish_gradients(optimizer, scale, 1), NonFiniteLoss);
}

TEST_CASE("a layer that two parts of a model share learns once in a step") {
    struct Tied final : torch::nn::Module {
        Tied() {
            first = register_module("first", torch::nn::Linear{3, 3});
            second = register_module("second", first);
        }
        torch::nn::Linear first{nullptr};
        torch::nn::Linear second{nullptr};
    } model;
    REQUIRE(model.parameters().size() == 4);
    Optimizer optimizer{{.kind = OptimizerKind::sgd, .learning_rate = 1, .momentum = 0}, parameter_groups(model, {}, 1)};
    const torch::Tensor before = model.first->bias.detach().clone();
    for (auto& parameter : model.parameters()) parameter.mutable_grad() = torch::ones_like(parameter);
    int gradients = 0;
    optimizer.each_gradient([&](const torch::Tensor&) { ++gradients; });
    CHECK(gradients == 2);
    optimizer.step();
    CHECK(torch::allclose(before - model.second->bias, torch::ones({3})));
    CHECK(parameter_groups(model, {"first", "second"}, 0.5).size() == 1);
}

TEST_CASE("with layer-wise decay each part learns at a share of the rate above it") {
    const Tower tower;
    const auto groups = parameter_groups(tower, tower_parts, 0.5);
    REQUIRE(groups.size() == 6);
    Optimizer optimizer{{.kind = OptimizerKind::sgd, .learning_rate = 1, .momentum = 0}, groups};
    const Weights before = weights_of(tower);
    for (auto& parameter : tower.parameters()) parameter.mutable_grad() = torch::ones_like(parameter);
    optimizer.set_learning_rate(0.8);  // as a schedule does
    optimizer.step();
    for (std::size_t part = 0; part < 6; ++part) {
        const double rate = 0.8 * std::pow(0.5, 5 - static_cast<double>(part));
        const auto change = before.at(tower_parts[part] + ".bias") - weights_of(tower).at(tower_parts[part] + ".bias");
        CHECK(torch::allclose(change, torch::full_like(change, rate), 1e-5, 1e-6));
    }
    CHECK(parameter_groups(tower, tower_parts, 1).size() == 1);
    CHECK(parameter_groups(tower, {}, 0.5).size() == 1);
    CHECK_THROWS_WITH(parameter_groups(torch::nn::ReLUImpl{}, {}, 1), Catch::Contains("no parameter that learns"));
}

TEST_CASE("the schedule and its warm-up decide every step's rate, and weight decay takes its share of the weights") {
    // Without gradients a step leaves 1 - rate * decay of every weight, with SGD as with AdamW's decoupled decay.
    const auto without_gradients = [](Points& task) { task.loss_factor = 0; };
    constexpr double rate = 0.2;
    constexpr double decay = 0.5;
    struct Case {
        const char* schedule;
        double warmup;
        std::vector<double> factors;  // of four steps
    };
    const double falling = 0.5 * (1 + std::sqrt(0.5));
    for (const Case& each : {Case{"constant", 0, {1, 1, 1, 1}}, Case{"linear", 0, {1, 0.75, 0.5, 0.25}},
                             Case{"cosine", 0, {1, falling, 0.5, 1 - falling}}, Case{"linear", 0.5, {1.0 / 3, 2.0 / 3, 1, 0.5}}}) {
        for (const char* kind : {"sgd", "adamw"}) {
            CAPTURE(each.schedule, each.warmup, kind);
            auto decayed = job(50, 50);
            const Weights before = untrained(decayed);
            decayed.params["optim.kind"] = std::string{kind};
            decayed.params["optim.lr"] = rate;
            decayed.params["optim.momentum"] = 0.0;
            decayed.params["optim.weight_decay"] = decay;
            decayed.params["optim.schedule"] = std::string{each.schedule};
            decayed.params["optim.warmup"] = each.warmup;
            double left = 1;
            for (const double factor : each.factors) left *= 1 - rate * factor * decay;
            for (const auto& [name, weight] : trained(decayed, without_gradients))
                CHECK(torch::allclose(weight, before.at(name) * left, /*rtol=*/1e-5, /*atol=*/1e-7));
        }
    }
}

TEST_CASE("frozen parts keep their weights to the last bit") {
    auto frozen = job(20, 10);
    frozen.params["train.frozen_embeddings"] = true;
    const Weights before = untrained(frozen);
    const Weights after = trained(frozen);
    CHECK(torch::equal(before.at("first.weight"), after.at("first.weight")));
    CHECK(torch::equal(before.at("first.bias"), after.at("first.bias")));
    CHECK(distance(before.at("second.weight"), after.at("second.weight")) > 0.01);
    CHECK(distance(before.at("first.weight"), trained(job(20, 10)).at("first.weight")) > 0.01);

    auto probe = job(20, 10);
    probe.params["train.tuning"] = std::string{"probe"};
    const Weights probed = trained(probe);
    for (const auto& [name, weight] : after) CHECK(torch::equal(weight, probed.at(name)));
    PointsTrainer trainer;
    const auto profile = trainer.profile(probe);
    REQUIRE(profile);
    CHECK(profile->parameters == 6 * 16 + 16 + 16 * 3 + 3);
    CHECK(profile->trainable_parameters == 16 * 3 + 3);
    CHECK(profile->gradient_bytes == 4 * (16 * 3 + 3));
    CHECK(profile->optimizer_bytes < 8 * (16 * 3 + 3) + 256);

    frozen.params["train.frozen_layers"] = std::int64_t{1};
    CHECK_THAT(refusal(frozen), Catch::Contains("train.frozen_layers: got 1; expected at most 0"));
    PointsTrainer one_part;
    one_part.change = [](Points& task) { task.parts.clear(); };
    Recorder recorder;
    CHECK_THAT(one_part.run(probe, recorder).failure->message, Catch::Contains("train.tuning") && Catch::Contains("one part"));
    one_part.change = [](Points& task) { task.parts = {"first", "third"}; };
    CHECK_THAT(one_part.run(probe, recorder).failure->message, Catch::Contains("'second.weight' lies in none of the model's parts"));
}

TEST_CASE("frozen lower parts leave no graph behind, also when they are to be recomputed, and the rest keeps its gradients") {
    Tower whole;
    const auto all = held_by_pass(whole);
    std::vector<torch::Tensor> gradients;
    for (const bool recompute : {false, true}) {
        torch::manual_seed(1);
        Tower tower{recompute};
        TuningSettings settings{.frozen_layers = 3};
        tune(tower, tower_parts, settings);
        const auto held = held_by_pass(tower);
        CAPTURE(recompute, held, all);
        CHECK(held < all / 2);
        const Batch batch{{torch::ones({8, 64})}, torch::zeros({8}, torch::kLong)};
        tower.forward(batch).only().sum().backward();
        for (int i = 0; i < 4; ++i) CHECK_FALSE(tower.layers[static_cast<std::size_t>(i)]->weight.grad().defined());
        gradients.push_back(tower.layers[4]->weight.grad());
    }
    CHECK(torch::equal(gradients[0], gradients[1]));
}

TEST_CASE("parts that learn nothing run as in an evaluation") {
    struct Normed final : torch::nn::Module {
        Normed() {
            body = register_module("body", torch::nn::Sequential{torch::nn::BatchNorm1d{2}, torch::nn::Dropout{0.5}});
            head = register_module("head", torch::nn::Sequential{torch::nn::Linear{2, 2}, torch::nn::Dropout{0.5}});
        }
        torch::nn::Sequential body{nullptr};
        torch::nn::Sequential head{nullptr};
    } model;
    const std::vector<std::string> parts{"body", "head"};
    enter_training(model, parts);
    CHECK(model.body->is_training());
    tune(model, parts, {.kind = TuningKind::probe});
    enter_training(model, parts);
    CHECK_FALSE(model.body->ptr(0)->is_training());
    CHECK_FALSE(model.body->ptr(1)->is_training());
    CHECK(model.head->ptr(1)->is_training());
}

TEST_CASE("a low-rank addition begins as nothing, learns alone, and merges into the weight") {
    torch::manual_seed(4);
    const LoraSettings settings{.rank = 3, .alpha = 6};
    const auto check = [&](auto layer, const torch::Tensor& x, std::int64_t added) {
        const auto before = layer(x).detach();
        std::int64_t own = 0;
        for (const auto& parameter : layer->parameters()) own += parameter.numel();
        layer->weight.set_requires_grad(false);
        if (layer->bias.defined()) layer->bias.set_requires_grad(false);
        layer->adapt(settings);
        CHECK(torch::equal(layer(x), before));
        std::int64_t learning = 0;
        for (const auto& parameter : layer->parameters()) learning += parameter.requires_grad() ? parameter.numel() : 0;
        CHECK(learning == added);

        auto parameters = layer->named_parameters();
        CHECK(parameters["lora_a"].abs().max().template item<double>() > 0);
        torch::NoGradGuard no_gradients;
        parameters["lora_b"].normal_(0, 0.5);
        {
            const torch::AutoGradMode with_gradients{true};
            layer(x).square().sum().backward();
        }
        CHECK_FALSE(layer->weight.grad().defined());
        CHECK(parameters["lora_a"].grad().norm().template item<double>() > 0);
        CHECK(parameters["lora_b"].grad().norm().template item<double>() > 0);
        const auto adapted = layer(x);
        CHECK(distance(adapted, before) > 0.1);
        // The definition, for each output and input: W + (alpha / rank) B A.
        auto delta = torch::zeros_like(layer->weight);
        for (std::int64_t r = 0; r < settings.rank; ++r) {
            for (std::int64_t o = 0; o < delta.size(0); ++o)
                delta[o] += parameters["lora_b"][o][r].squeeze() * parameters["lora_a"][r] * 2.0;
        }
        const auto expected = layer->weight + delta;
        layer->merge();
        CHECK(torch::allclose(layer->weight, expected, 1e-5, 1e-6));
        CHECK(torch::allclose(layer(x), adapted, 1e-4, 1e-5));
        CHECK_FALSE(layer->named_parameters().contains("lora_a"));
        std::int64_t left = 0;
        for (const auto& parameter : layer->parameters()) left += parameter.numel();
        CHECK(left == own);
    };
    check(Linear{10, 7}, torch::randn({5, 10}), 3 * 10 + 7 * 3);
    check(Linear{torch::nn::LinearOptions{10, 7}.bias(false)}, torch::randn({2, 5, 10}), 3 * 10 + 7 * 3);
    const auto options = torch::nn::Conv2dOptions{4, 6, 3}.stride(2).padding(1).bias(false);
    check(Conv2d{options}, torch::randn({2, 4, 9, 9}), 3 * 4 * 9 + 6 * 3);
    Conv2d grouped{torch::nn::Conv2dOptions{4, 4, 3}.groups(2)};
    CHECK_THROWS_WITH(grouped->adapt(settings), Catch::Contains("groups"));
}

TEST_CASE("the dropout of a low-rank addition leaves the layer's own output alone, and rests in an evaluation") {
    torch::manual_seed(4);
    Linear layer{6, 6};
    layer->adapt({.rank = 2, .alpha = 2, .dropout = 0.5});
    const auto x = torch::randn({4, 6});
    CHECK(torch::equal(layer(x), torch::linear(x, layer->weight, layer->bias)));
    const torch::NoGradGuard no_gradients;
    layer->named_parameters()["lora_b"].fill_(1);
    CHECK_FALSE(torch::equal(layer(x), layer(x)));
    layer->eval();
    CHECK(torch::equal(layer(x), layer(x)));
}

TEST_CASE("LoRA trains additions and the head, below the head only where it is told") {
    auto lora = job(20, 10);
    lora.params["train.tuning"] = std::string{"lora"};
    lora.params["lora.rank"] = std::int64_t{2};
    const Weights before = untrained(lora);
    const Weights after = trained(lora);
    CHECK(torch::equal(before.at("first.weight"), after.at("first.weight")));
    CHECK(distance(before.at("first.lora_b"), after.at("first.lora_b")) > 1e-3);
    CHECK(distance(before.at("second.weight"), after.at("second.weight")) > 1e-3);
    CHECK(after.count("second.lora_a") == 0);
    PointsTrainer trainer;
    CHECK(trainer.profile(lora)->trainable_parameters == 2 * 6 + 16 * 2 + 16 * 3 + 3);
    lora.params["lora.targets"] = std::string{" first ,"};
    CHECK(trainer.check(lora).empty());
    lora.params["lora.targets"] = std::string{"firts"};
    CHECK_THAT(refusal(lora), Catch::Contains("lora.targets: unknown layer 'firts'; did you mean 'first'?; known: first"));

    Tower tower;
    tune(tower, tower_parts, {.kind = TuningKind::lora, .frozen_layers = 2, .lora = {.rank = 2}});
    std::vector<std::string> learning;
    for (const auto& item : tower.named_parameters()) {
        if (item.value().requires_grad()) learning.push_back(item.key());
    }
    CHECK(learning ==
          std::vector<std::string>{"layer3.lora_a", "layer3.lora_b", "layer4.lora_a", "layer4.lora_b", "layer5.weight", "layer5.bias"});
    const Batch batch{{torch::randn({3, 64})}, torch::zeros({3}, torch::kLong)};
    const torch::Tensor adapted = tower.forward(batch);
    merge_layers(tower);
    CHECK(torch::allclose(tower.forward(batch), adapted, 1e-4, 1e-5));
    CHECK(tower.parameters().size() == 12);
}

namespace {

/// Adafactor's algorithm 4 (matrices) and 5 (vectors) in plain loops, with the paper's constants; `x` and `g` are [n][m], a vector n x 1.
struct ReferenceAdafactor {
    std::vector<double> rows, columns, whole;
    int step = 0;

    void update(std::vector<std::vector<double>>& x, const std::vector<std::vector<double>>& g, bool matrix, double rho) {
        const std::size_t n = x.size();
        const std::size_t m = x[0].size();
        const double beta = 1 - std::pow(++step, -0.8);
        rows.resize(n);
        columns.resize(m);
        whole.resize(n * m);
        std::vector<double> row_sums(n), column_sums(m);
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < m; ++j) {
                const double square = g[i][j] * g[i][j] + 1e-30;
                row_sums[i] += square;
                column_sums[j] += square;
                whole[i * m + j] = beta * whole[i * m + j] + (1 - beta) * square;
            }
        }
        double total = 0;
        for (std::size_t i = 0; i < n; ++i) total += rows[i] = beta * rows[i] + (1 - beta) * row_sums[i];
        for (std::size_t j = 0; j < m; ++j) columns[j] = beta * columns[j] + (1 - beta) * column_sums[j];
        std::vector<std::vector<double>> u = g;
        double update_square = 0;
        double weight_square = 0;
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < m; ++j) {
                u[i][j] = g[i][j] / std::sqrt(matrix ? rows[i] * columns[j] / total : whole[i * m + j]);
                update_square += u[i][j] * u[i][j];
                weight_square += x[i][j] * x[i][j];
            }
        }
        const auto size = static_cast<double>(n * m);
        const double alpha = std::max(1e-3, std::sqrt(weight_square / size)) * rho;
        const double shrink = std::max(1.0, std::sqrt(update_square / size));
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < m; ++j) x[i][j] -= alpha * u[i][j] / shrink;
        }
    }
};

}  // namespace

TEST_CASE("Adafactor takes the paper's steps, keeps rows and columns only, and goes on from a saved state") {
    for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{5, 7}, {6}, {3, 2, 2, 2}}) {
        CAPTURE(shape);
        torch::manual_seed(2);
        auto x = torch::randn(shape).requires_grad_();
        const bool matrix = shape.size() > 1;
        const auto as_matrix = [&](const torch::Tensor& tensor) { return matrix ? tensor.flatten(1) : tensor.unsqueeze(1); };
        const auto numbers = [&](const torch::Tensor& tensor) {
            const auto m = as_matrix(tensor.detach());
            std::vector<std::vector<double>> rows;
            for (std::int64_t i = 0; i < m.size(0); ++i) {
                rows.emplace_back();
                for (std::int64_t j = 0; j < m.size(1); ++j) rows.back().push_back(m[i][j].item<double>());
            }
            return rows;
        };
        auto expected = numbers(x);
        ReferenceAdafactor reference;
        auto optimizer = std::make_unique<Adafactor>(std::vector<torch::optim::OptimizerParamGroup>{{{x}}}, AdafactorOptions{0.05});
        for (int step = 0; step < 6; ++step) {
            if (step == 3) {
                std::stringstream file;
                torch::save(*optimizer, file);
                optimizer = std::make_unique<Adafactor>(std::vector<torch::optim::OptimizerParamGroup>{{{x}}}, AdafactorOptions{0.05});
                torch::load(*optimizer, file);
            }
            x.mutable_grad() = torch::randn(shape) * (step + 1) + 0.1;
            reference.update(expected, numbers(x.grad()), matrix, 0.05);
            optimizer->step();
            const auto got = numbers(x);
            for (std::size_t i = 0; i < got.size(); ++i) {
                for (std::size_t j = 0; j < got[i].size(); ++j) CHECK(got[i][j] == Approx(expected[i][j]).epsilon(1e-4).margin(1e-6));
            }
        }
    }
    auto adafactor = job(20, 10);
    adafactor.params["optim.kind"] = std::string{"adafactor"};
    adafactor.params["optim.lr"] = 0.05;
    PointsTrainer trainer;
    const auto bytes = trainer.profile(adafactor)->optimizer_bytes;
    CHECK(bytes >= 4 * (16 + 6 + 16 + 3 + 16 + 3));
    CHECK(bytes < 4 * (16 + 6 + 16 + 3 + 16 + 3) + 128);
    Recorder recorder;
    const auto outcome = trainer.run(adafactor, recorder);
    REQUIRE(outcome.kind == hpo::OutcomeKind::complete);
    CHECK(outcome.values[0] > 0.6);
}

TEST_CASE("weight decay of Adafactor is decoupled from the gradient") {
    auto x = torch::full({4}, 2.0F, torch::requires_grad());
    Adafactor optimizer{{{{x}}}, AdafactorOptions{0.1, 0.5}};
    x.mutable_grad() = torch::zeros({4});
    optimizer.step();
    CHECK(torch::allclose(x, torch::full({4}, 2.0F * (1 - 0.1F * 0.5F)), 1e-6));
}

TEST_CASE("under bf16 a model computes in it and learns in fp32, with about the same gradients and less memory") {
    torch::manual_seed(3);
    Tower tower;
    const Batch batch{{torch::randn({64, 64})}, torch::zeros({64}, torch::kLong)};
    const auto gradients = [&](hpo::Precision precision, bool recompute) {
        Tower same{recompute};
        {
            const torch::NoGradGuard no_gradients;
            for (std::size_t i = 0; i < same.parameters().size(); ++i) same.parameters()[i].copy_(tower.parameters()[i]);
        }
        torch::Tensor output;
        {
            const Autocast autocast{torch::kCPU, precision};
            output = same.forward(batch);
        }
        CHECK(output.scalar_type() == (precision == hpo::Precision::bf16 ? torch::kBFloat16 : torch::kFloat));
        output.to(torch::kFloat).square().sum().backward();
        std::vector<torch::Tensor> flat;
        for (const auto& parameter : same.parameters()) {
            REQUIRE(parameter.grad().scalar_type() == torch::kFloat);
            flat.push_back(parameter.grad().flatten());
        }
        return torch::cat(flat);
    };
    const auto full = gradients(hpo::Precision::fp32, false);
    const auto half = gradients(hpo::Precision::bf16, false);
    CHECK(distance(full, half) < 0.05 * full.norm().item<double>());
    CHECK(distance(full, half) > 0);
    CHECK(torch::equal(half, gradients(hpo::Precision::bf16, true)));
    CHECK(torch::equal(full, gradients(hpo::Precision::fp32, true)));

    const auto whole = held_by_pass(tower, hpo::Precision::fp32);
    const auto halved = held_by_pass(tower, hpo::Precision::bf16);
    CAPTURE(whole, halved);
    CHECK(halved < whole * 3 / 4);
    CHECK_FALSE(AutocastState::of(torch::kCPU).enabled);
    CHECK(torch::mm(torch::ones({2, 2}), torch::ones({2, 2})).scalar_type() == torch::kFloat);
}

TEST_CASE("an attempt and its profile heed the plan's precision") {
    PointsTrainer trainer;
    auto plain = job(20, 10);
    auto half = plain;
    half.plan.precision = hpo::Precision::bf16;
    Recorder recorder;
    const auto outcome = trainer.run(half, recorder);
    REQUIRE(outcome.kind == hpo::OutcomeKind::complete);
    CHECK(outcome.values[0] > 0.5);
    CHECK_THAT(recorder.lines.at(0), Catch::StartsWith("epoch 1 of 4: training loss "));
    Recorder full;
    static_cast<void>(trainer.run(plain, full));
    CHECK(recorder.lines.at(0) != full.lines.at(0));
    CHECK(trainer.info().levers == std::vector<std::string>{"micro_batch", "precision"});
}

TEST_CASE("the scale of an fp16 loss leaves gradients alone, skips what overflows, and finds its level") {
    auto parameter = torch::zeros({2}, torch::requires_grad());
    Optimizer optimizer{{}, {{{parameter}}}};
    LossScale scale{hpo::Precision::fp16};
    CHECK(scale.factor() == 65536);
    parameter.mutable_grad() = torch::tensor({3.0F, 4.0F}) * 65536;
    CHECK(finish_gradients(optimizer, scale, 0));
    CHECK(torch::equal(parameter.grad(), torch::tensor({3.0F, 4.0F})));
    parameter.mutable_grad() = torch::tensor({3.0F, 4.0F}) * 65536;
    CHECK(finish_gradients(optimizer, scale, 2.5));
    CHECK(torch::allclose(parameter.grad(), torch::tensor({1.5F, 2.0F})));

    parameter.mutable_grad() = torch::full({2}, std::numeric_limits<float>::infinity());
    CHECK_FALSE(finish_gradients(optimizer, scale, 2.5));
    CHECK(scale.factor() == 32768);
    for (int step = 0; step < 2000; ++step) scale.grow();
    CHECK(scale.factor() == 65536);
    const auto fail_for_ever = [&] {
        while (true) scale.shrink();
    };
    CHECK_THROWS_AS(fail_for_ever(), NonFiniteLoss);
    CHECK(LossScale{hpo::Precision::bf16}.factor() == 1);
}

TEST_CASE("a kept scale is taken up only where fp16 goes on as fp16") {
    using hpo::Precision;
    LossScale scale{Precision::fp16};
    scale.shrink();
    LossScale same{Precision::fp16};
    same.restore(scale.state());
    CHECK(same.factor() == 32768);
    LossScale other{Precision::bf16};
    other.restore(scale.state());
    CHECK(other.factor() == 1);
    LossScale first{Precision::fp16};
    first.restore(other.state());
    CHECK(first.factor() == 65536);
}

TEST_CASE("with patience a trial ends after epochs that are no better, and is its best epoch") {
    auto patient = job(50, 50);
    patient.options["epochs"] = std::int64_t{9};
    patient.options["train.patience"] = std::int64_t{2};
    const std::vector<double> script{0.3, 0.5, 0.4, 0.5, 0.9, 0.9, 0.9, 0.9, 0.9};
    PointsTrainer trainer;
    Weights kept;
    trainer.change = [&](Points& task) {
        task.script = script;
        task.at_end = [&](Model& model) { kept = weights_of(model); };
    };
    Recorder recorder;
    const auto outcome = trainer.run(patient, recorder);
    REQUIRE(outcome.kind == hpo::OutcomeKind::complete);
    CHECK(recorder.reports.size() == 4);
    CHECK(outcome.values == std::vector<double>{0.5});
    CHECK(outcome.attributes.at("accuracy") == "0.5");
    CHECK(outcome.attributes.at("best_epoch") == "2");

    auto two_epochs = patient;
    two_epochs.options["epochs"] = std::int64_t{2};
    two_epochs.options["train.patience"] = std::int64_t{0};
    for (const auto& [name, weight] : trained(two_epochs)) CHECK(torch::equal(weight, kept.at(name)));

    patient.options["train.patience"] = std::int64_t{3};
    Recorder longer;
    CHECK(trainer.run(patient, longer).values == std::vector<double>{0.9});
    CHECK(longer.reports.size() == 8);
    patient.options["train.patience"] = std::int64_t{0};
    Recorder all;
    const auto last = trainer.run(patient, all);
    CHECK(all.reports.size() == 9);
    CHECK(last.attributes.count("best_epoch") == 0);
}

TEST_CASE("loader workers change neither batches nor results") {
    const Points task;
    std::vector<std::int64_t> order(50);
    std::iota(order.rbegin(), order.rend(), std::int64_t{0});
    std::vector<Batch> expected;
    for (const std::int64_t workers : {0, 1, 3, 20}) {
        CAPTURE(workers);
        BatchLoader loader{task, {.order = order, .effective_batch = 20, .micro_batch = 7, .workers = workers}, torch::kCPU};
        const std::vector<std::int64_t> sizes{7, 7, 6, 7, 7, 6, 7, 3};
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            const Batch batch = loader.next();
            REQUIRE(batch.examples() == sizes[i]);
            if (workers == 0) expected.push_back(batch);
            CHECK(torch::equal(batch.inputs[0], expected[i].inputs[0]));
            CHECK(torch::equal(batch.targets, expected[i].targets));
        }
    }
    auto alone = job(20, 3);
    auto helped = alone;
    helped.options["loader_workers"] = std::int64_t{3};
    PointsTrainer trainer;
    Recorder a;
    Recorder b;
    const auto without = trainer.run(alone, a);
    const auto with = trainer.run(helped, b);
    CHECK(a.lines == b.lines);
    CHECK(without.peak_allocated == with.peak_allocated);
}

TEST_CASE("a loader passes errors on in the batches' order, and can be left at any time") {
    struct Broken final : Task {
        std::shared_ptr<Model> build() override { return nullptr; }
        [[nodiscard]] std::int64_t training_examples() const override { return 100; }
        [[nodiscard]] Batch training_batch(std::span<const std::int64_t> examples, torch::Device) const override {
            if (examples[0] >= 5) throw std::runtime_error{"example " + std::to_string(examples[0])};
            return {{torch::zeros({1})}, torch::zeros({1}, torch::kLong)};
        }
        [[nodiscard]] torch::Tensor loss_sum(const Outputs& outputs, const Batch&) const override { return outputs.only().sum(); }
        [[nodiscard]] Metrics evaluate(Model&, const EvaluationPlan&) const override { return {}; }
    };
    const Broken task;
    std::vector<std::int64_t> order(100);
    std::iota(order.begin(), order.end(), std::int64_t{0});
    for (const std::int64_t workers : {0, 1, 4}) {
        BatchLoader loader{task, {.order = order, .workers = workers}, torch::kCPU};
        for (int i = 0; i < 5; ++i) CHECK(loader.next().examples() == 1);
        CHECK_THROWS_WITH(loader.next(), "example 5");
    }
    for (int left = 0; left < 50; ++left) {
        BatchLoader loader{task, {.order = order, .workers = 3}, torch::kCPU};
        for (int i = 0; i < left % 6; ++i) {
            if (i < 5) static_cast<void>(loader.next());
        }
    }
    PointsTrainer trainer;
    trainer.change = [](Points& points) { points.y[17] = 9; };
    auto bad = job(50, 5);
    bad.options["loader_workers"] = std::int64_t{2};
    Recorder recorder;
    const auto outcome = trainer.run(bad, recorder);
    REQUIRE(outcome.failure);
    CHECK(outcome.failure->kind == hpo::FailureKind::bad_batch);
    CHECK(outcome.failure->where == "batch");
    recorder.stop = true;
    trainer.change = [](Points&) {};
    CHECK(trainer.run(bad, recorder).kind == hpo::OutcomeKind::stopped);
}
