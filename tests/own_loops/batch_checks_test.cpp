// SPDX-License-Identifier: MIT
#include "hpo/torch/training/batch_checks.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "points.hpp"
#include "support/catch.hpp"

using namespace hpo::libtorch;
using Catch::Contains;

namespace {

constexpr float infinite = std::numeric_limits<float>::infinity();

torch::Tensor whole_numbers(const std::vector<std::int64_t>& numbers) { return torch::tensor(numbers, torch::kLong); }

/// The message of a BadBatch; empty if none is thrown.
template <class Work>
std::string refusal(const Work& work) {
    try {
        work();
    } catch (const BadBatch& error) {
        return error.what();
    }
    return {};
}

hpo::TrainerJob line_job(std::int64_t micro) {
    hpo::TrainerJob job = points::job(10, micro);
    job.metric = "answer";
    return job;
}

/// A straight line through 30 points.
struct Line final : Model {
    Line() { layer = register_module("layer", Linear{1, 1}); }
    Outputs forward(const Batch& batch) override { return layer(batch.inputs.at(0).sum(1, true)); }
    Linear layer{nullptr};
};

struct LineTask final : Task {
    std::shared_ptr<Model> build() override { return std::make_shared<Line>(); }
    [[nodiscard]] std::int64_t training_examples() const override { return 30; }
    [[nodiscard]] Batch training_batch(std::span<const std::int64_t> examples, torch::Device device) const override {
        std::vector<float> numbers(examples.begin(), examples.end());
        torch::Tensor x = torch::tensor(numbers).unsqueeze(1) / 30;
        torch::Tensor y = 2 * x;
        bool wide = false;
        for (std::size_t i = 0; i < examples.size(); ++i) {
            if (examples[i] == 3) y[static_cast<std::int64_t>(i)] += bad_target;
            wide = wide || examples[i] >= wide_from;
        }
        if (wide) x = torch::cat({x, torch::zeros_like(x)}, 1);
        return {{x.to(device)}, y.to(device)};
    }
    void arrange(std::vector<std::int64_t>& order, const EpochOrder&) const override { std::sort(order.begin(), order.end()); }
    [[nodiscard]] bool batches_alike() const override { return alike; }
    [[nodiscard]] torch::Tensor loss_sum(const Outputs& outputs, const Batch& batch) const override {
        return (outputs.only() - batch.targets).pow(2).sum();
    }
    [[nodiscard]] Metrics evaluate(Model& model, const EvaluationPlan& plan) const override {
        const Batch one{{torch::ones({1, 1}, plan.device)}, torch::zeros({1, 1}, plan.device)};
        return {{"answer", model.forward(one).only().item<double>()}};
    }
    float bad_target = 0;
    std::int64_t wide_from = 30;
    bool alike = true;
};

struct LineTrainer final : TorchTrainer {
    float bad_target = 0;
    std::int64_t wide_from = 30;
    bool alike = true;
    hpo::TrainerInfo describe() const override {
        hpo::TrainerInfo info;
        info.name = "line";
        info.metrics = {{"answer", hpo::Direction::maximize, ""}};
        return info;
    }
    std::unique_ptr<Task> make_task(const hpo::Settings&, const hpo::TrainerJob&) override {
        auto task = std::make_unique<LineTask>();
        task->bad_target = bad_target;
        task->wide_from = wide_from;
        task->alike = alike;
        return task;
    }
};

std::string refusal_of(const Batch& batch, const BatchRules& rules, const BatchPlace& place = {}) {
    return refusal([&] { check_batch(batch, rules, place); });
}

}  // namespace

TEST_CASE("a label outside the classes is refused with batch, row, example, value and range") {
    const std::vector<std::int64_t> examples{40, 41, 42, 43};
    const BatchPlace place{.number = 5, .of = "epoch 2", .first_row = 8, .examples = examples};
    const auto refused = [&](const std::vector<std::int64_t>& labels) {
        return refusal_of({{torch::zeros({4, 2})}, whole_numbers(labels)}, {.classes = 3}, place);
    };
    CHECK(refused({0, 1, 2, 0}).empty());
    CHECK(refused({0, 1, 3, 9}) ==
          "label 3 in row 10 of batch 5 of epoch 2 (example 42); expected 0 to 2. This batch has labels from 0 to 9");
    CHECK_THAT(refused({-1, 1, 2, 0}), Contains("label -1 in row 8 of batch 5 of epoch 2 (example 40); expected 0 to 2"));
    CHECK_THAT(refused({0, 1, 2, std::numeric_limits<std::int64_t>::min()}), Contains("label -9223372036854775808 in row 11"));
    CHECK_THAT(refused({0, -100, 2, 0}), Contains("label -100 in row 9"));
}

TEST_CASE("only the ignored label is allowed besides the classes, and labels of tokens name their place") {
    const BatchRules rules{.classes = 3, .ignored_label = -100, .labels_of_positions = true};
    const auto refused = [&](const std::vector<std::int64_t>& labels) {
        return refusal_of({{torch::zeros({2, 3})}, whole_numbers(labels).view({2, 3})}, rules);
    };
    CHECK(refused({0, -100, 2, -100, -100, 1}).empty());
    CHECK(refused({-100, -100, -100, -100, -100, -100}).empty());
    CHECK(refused({0, -100, 2, -100, -100, 7}) ==
          "label 7 in place [2] of row 1 of batch 1; expected 0 to 2 or -100. This batch has labels from -100 to 7");
    CHECK_THAT(refused({0, -99, 2, 0, 0, 0}), Contains("label -99 in place [1] of row 0"));
    CHECK_THAT(
        refusal_of({{torch::zeros({3, 2})}, whole_numbers({0, 1, 2})}, rules),
        Contains("labels of shape [3] and type Long in batch 1; expected whole numbers of type Long, a row of them for each example"));
}

TEST_CASE("labels of another type or shape, and a batch without examples, are refused") {
    const auto refused = [](const torch::Tensor& labels) { return refusal_of({{torch::zeros({2, 2})}, labels}, {.classes = 3}); };
    CHECK_THAT(refused(torch::zeros({2})), Contains("labels of shape [2] and type Float in batch 1; expected whole numbers of type Long"));
    CHECK_THAT(refused(torch::zeros({2}, torch::kInt)), Contains("type Int in batch 1"));
    CHECK_THAT(refused(torch::zeros({2, 1}, torch::kLong)), Contains("labels of shape [2, 1]"));
    CHECK_THAT(refused(torch::zeros({0}, torch::kLong)), Contains("a batch without examples"));
    const auto strided = torch::tensor(std::vector<std::int64_t>{0, 7, 1, 7}, torch::kLong).slice(0, 0, 4, 2);
    CHECK(refused(strided).empty());  // only its own numbers count
}

TEST_CASE("an id outside the embedding is refused, in ids of both types") {
    for (const torch::ScalarType type : {torch::kLong, torch::kInt}) {
        const auto refused = [&](const std::vector<std::int64_t>& ids) {
            return refusal_of({{whole_numbers(ids).view({2, 3}).to(type)}, torch::zeros({2})}, {.vocabulary = 100});
        };
        CAPTURE(torch::toString(type));
        CHECK(refused({0, 99, 5, 6, 7, 8}).empty());
        CHECK(refused({0, 99, 5, 6, 100, 8}) ==
              "id 100 in place [1] of row 1 of batch 1; expected 0 to 99. This batch has ids from 0 to 100");
        CHECK_THAT(refused({0, 99, 5, -1, 7, 8}), Contains("id -1 in place [0] of row 1"));
    }
    CHECK_THAT(refusal_of({{torch::zeros({2, 3})}, torch::zeros({2})}, {.vocabulary = 100}),
               Contains("ids of type Float in batch 1; expected whole numbers of type Long or Int"));
    CHECK_THAT(refusal_of({{}, torch::zeros({2})}, {.vocabulary = 100}), Contains("no ids in batch 1; expected them as the first input"));
}

TEST_CASE("NaN and infinity in an input are refused at every place, in every type with a fraction") {
    for (const torch::ScalarType type : {torch::kFloat, torch::kDouble, torch::kHalf, torch::kBFloat16}) {
        for (const std::int64_t size : {1, 2, 3, 7, 16, 17, 33}) {
            for (const float bad : {infinite, -infinite, std::nanf("")}) {
                CAPTURE(torch::toString(type), size, bad);
                const torch::Tensor sound = torch::full({2, size}, -60000.F).to(type);
                CHECK(refusal_of({{sound}, torch::zeros({2})}, {}).empty());
                for (std::int64_t at = 0; at < 2 * size; ++at) {
                    torch::Tensor input = sound.clone();
                    input.flatten()[at] = bad;
                    const std::string text = refusal_of({{torch::zeros({2, 1}), input}, torch::zeros({2})}, {});
                    CHECK_THAT(text, Contains("input 1: " + hpo::number_text(bad) + " in place [" + std::to_string(at % size) +
                                              "] of row " + std::to_string(at / size) + " of batch 1; expected finite numbers"));
                    CHECK(refusal_of({{input}, torch::zeros({2})}, {.finite_inputs = false}).empty());
                }
            }
        }
    }
    const auto largest = torch::full({2, 5}, std::numeric_limits<float>::max());
    const auto smallest = torch::full({2, 5}, std::numeric_limits<float>::denorm_min());
    CHECK(refusal_of({{largest, -largest, smallest, torch::Tensor{}, torch::ones({2}, torch::kLong)}, torch::zeros({2})}, {}).empty());
    torch::Tensor wide = torch::zeros({4, 4});
    wide[0][1] = infinite;
    CHECK(refusal_of({{wide.slice(1, 0, 4, 2)}, torch::zeros({4})}, {}).empty());  // the infinite number is not part of the slice
}

TEST_CASE("a batch of other shapes than the first is refused, and sizes may differ if the rules say so") {
    const auto batch = [](std::int64_t examples, std::int64_t width) {
        return Batch{{torch::zeros({examples, width}), torch::Tensor{}}, torch::zeros({examples})};
    };
    FirstShapes fixed;
    fixed.check(batch(4, 6), true);
    CHECK_NOTHROW(fixed.check(batch(1, 6), true));
    CHECK(refusal([&] { fixed.check(batch(4, 7), true, {.number = 3}); }) ==
          "input 0 of shape [4, 7] and type Float in batch 3; expected [4, 6] and type Float, as in the first batch, but for the number of "
          "examples");
    CHECK_THAT(refusal([&] {
                   fixed.check({{torch::zeros({4, 6}, torch::kDouble), {}}, torch::zeros({4})}, true);
               }),
               Contains("type Double"));
    CHECK_THAT(refusal([&] {
                   fixed.check({{torch::zeros({4, 6})}, torch::zeros({4})}, true);
               }),
               Contains("1 inputs in batch 1; expected 2"));
    CHECK_THAT(refusal([&] {
                   fixed.check({{torch::zeros({4, 6}), {}}, torch::zeros({4, 1})}, true);
               }),
               Contains("targets of shape [4, 1]"));
    CHECK_NOTHROW(fixed.check({{torch::zeros({4, 6}), torch::zeros({4, 2})}, torch::zeros({4})}, true));  // a mask that came late
    CHECK_THAT(refusal([&] {
                   fixed.check({{torch::zeros({4, 6}), torch::zeros({4, 3})}, torch::zeros({4})}, true);
               }),
               Contains("input 1 of shape [4, 3]"));

    FirstShapes varying;
    varying.check({{torch::zeros({4, 6})}, torch::zeros({4})}, false);
    CHECK_NOTHROW(varying.check({{torch::zeros({4, 9}), torch::zeros({4, 9})}, torch::zeros({4})}, false));
    CHECK_THAT(refusal([&] {
                   varying.check({{torch::zeros({4, 6, 1})}, torch::zeros({4})}, false);
               }),
               Contains("input 0 of shape [4, 6, 1]"));
    CHECK_THAT(refusal([&] {
                   varying.check({{torch::zeros({4, 6}), torch::zeros({4})}, torch::zeros({4})}, false);
               }),
               Contains("input 1 of shape [4]"));
}

TEST_CASE("logits fit labels of examples and of tokens, with the classes second or last") {
    const Batch plain{{}, torch::zeros({4}, torch::kLong)};
    CHECK(refusal([&] { check_logits(torch::zeros({4, 3}), plain, 3); }).empty());
    CHECK(refusal([&] { check_logits(torch::zeros({4, 2}), plain, 3); }) == "logits of shape [4, 2]; expected [4, 3]");
    const Batch tokens{{}, torch::zeros({4, 5}, torch::kLong)};
    CHECK(refusal([&] { check_logits(torch::zeros({4, 3, 5}), tokens, 3); }).empty());
    CHECK(refusal([&] { check_logits(torch::zeros({4, 5, 3}), tokens, 3); }).empty());
    CHECK(refusal([&] { check_logits(torch::zeros({4, 3}), tokens, 3); }) == "logits of shape [4, 3]; expected [4, 3, 5] or [4, 5, 3]");
}

TEST_CASE("the checks of a loop count batches and tell the configuration in every message") {
    BatchChecks checks{{.classes = 3}, "lr = 0.1, batch = 4"};
    const auto batch = [](std::int64_t label) { return Batch{{torch::zeros({2, 2})}, whole_numbers({0, label})}; };
    checks.check_batch(batch(2));
    CHECK(refusal([&] { checks.check_batch(batch(3)); }) ==
          "label 3 in row 1 of batch 2; expected 0 to 2. This batch has labels from 0 to 3; configuration: lr = 0.1, batch = 4");
    CHECK(refusal([&] {
              checks.check_logits(torch::zeros({2, 4}), batch(0));
          }) == "logits of shape [2, 4]; expected [2, 3], in batch 2; configuration: lr = 0.1, batch = 4");
    CHECK_NOTHROW(checks.check_logits(torch::zeros({2, 3}), batch(0)));
    CHECK_NOTHROW(checks.check_loss(torch::tensor(0.5)));
    CHECK_THROWS_WITH(checks.check_loss(torch::tensor(infinite)), "the loss is Infinity in batch 2; configuration: lr = 0.1, batch = 4");
    CHECK_THROWS_AS(checks.check_loss(torch::tensor(std::nanf(""))), NonFiniteLoss);
    CHECK_THAT(refusal([&] { checks.check_loss(torch::zeros({2})); }), Contains("a loss of shape [2] in batch 2; expected one number"));
    CHECK_THAT(refusal([&] {
                   checks.check_batch({{torch::zeros({2, 3})}, whole_numbers({0, 1})});
               }),
               Contains("input 0 of shape [2, 3] and type Float in batch 3") && Contains("lr = 0.1"));
    CHECK(checks.batches() == 3);
}

TEST_CASE("a trainer's bad batch names the row in the effective batch and the example, whatever the micro-batch and the workers") {
    points::PointsTrainer trainer;
    trainer.change = [](points::Points& task) { task.y[17] = 9; };
    std::vector<std::string> messages;
    for (const std::int64_t micro : {20, 7, 3}) {
        for (const std::int64_t workers : {0, 2}) {
            hpo::TrainerJob job = points::job(20, micro);
            job.options["loader_workers"] = workers;
            points::Recorder recorder;
            const auto outcome = trainer.run(job, recorder);
            REQUIRE(outcome.failure);
            CHECK(outcome.failure->kind == hpo::FailureKind::bad_batch);
            CHECK(outcome.failure->where == "batch");
            const std::string& message = outcome.failure->message;
            CHECK_THAT(message, Contains("label 9 in row ") && Contains(" of epoch 1 (example 17); expected 0 to 2") &&
                                    Contains("train.batch_size = 20") && Contains("optim.lr = 0.01"));
            messages.push_back(message.substr(0, message.find("(example")));
        }
    }
    CHECK(messages == std::vector<std::string>(messages.size(), messages.front()));
}

TEST_CASE("a trainer refuses an input that is not finite before the model sees it") {
    points::PointsTrainer trainer;
    trainer.change = [](points::Points& task) { task.x[17][2] = std::nanf(""); };
    points::Recorder recorder;
    const auto outcome = trainer.run(points::job(50, 50), recorder);
    REQUIRE(outcome.failure);
    CHECK(outcome.failure->kind == hpo::FailureKind::bad_batch);
    CHECK(outcome.failure->where == "batch");
    CHECK_THAT(outcome.failure->message, Contains("input 0: NaN in place [2] of row ") && Contains("(example 17)") && Contains("optim.lr"));
}

TEST_CASE("a loss that is not finite because of a target is told as a bad batch") {
    LineTrainer trainer;
    points::Recorder recorder;
    CHECK(trainer.run(line_job(4), recorder).kind == hpo::OutcomeKind::complete);
    trainer.bad_target = std::nanf("");
    const auto outcome = trainer.run(line_job(4), recorder);
    REQUIRE(outcome.failure);
    CHECK(outcome.failure->kind == hpo::FailureKind::bad_batch);
    CHECK_THAT(outcome.failure->message, Contains("targets: NaN in place [0] of row ") && Contains(" of batch 1 of epoch 1 (example 3)"));
}

TEST_CASE("a trainer refuses a batch of another shape, unless its task says that batches differ") {
    LineTrainer trainer;
    trainer.wide_from = 20;  // examples 20 to 29 have two numbers, and the second is 0
    points::Recorder recorder;
    const auto outcome = trainer.run(line_job(5), recorder);
    REQUIRE(outcome.failure);
    CHECK(outcome.failure->kind == hpo::FailureKind::bad_batch);
    CHECK_THAT(outcome.failure->message, Contains("input 0 of shape [5, 2]") && Contains("as in the first batch"));
    trainer.alike = false;
    CHECK(trainer.run(line_job(5), recorder).kind == hpo::OutcomeKind::complete);
}
