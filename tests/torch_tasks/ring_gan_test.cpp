// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "examples/plugins/ring_gan/ring_gan.cpp"  // whole, so that what the page about plugins shows is compiled
#include "hpo/testing/saving_contract.hpp"
#include "hpo/testing/trainer_contract.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "torch/points.hpp"

using ring_gan::RingGan;

namespace {

hpo::TrainerJob gan_job() {
    hpo::TrainerJob job;
    job.metric = "distance";
    job.params = {{"model.width", std::int64_t{64}}, {"train.batch_size", std::int64_t{100}}, {"optim.lr", 0.002}};
    job.options = {{"epochs", std::int64_t{2}},
                   {"train_examples", std::int64_t{430}},
                   {"validation_examples", std::int64_t{120}},
                   {"checkpoint_seconds", 0.0},
                   {"threads", std::int64_t{1}}};
    return job;
}

hpo::AttemptOutcome complete(hpo::libtorch::TorchTrainer& trainer, const hpo::TrainerJob& job) {
    points::Recorder recorder;
    auto outcome = trainer.run(job, recorder);
    INFO((outcome.failure ? outcome.failure->message : ""));
    REQUIRE(outcome.kind == hpo::OutcomeKind::complete);
    return outcome;
}

/// The first weights of each part at one moment of a training.
struct Weights {
    torch::Tensor generator;
    torch::Tensor discriminator;
};

/// The example's task, with the step of a test.
class OtherStep final : public hpo::libtorch::OwnStepTask {
public:
    using Step = std::function<double(hpo::libtorch::TrainingStep&)>;
    explicit OtherStep(Step step) : step_{std::move(step)} {}
    std::shared_ptr<hpo::libtorch::Model> build() override { return whole_.build(); }
    [[nodiscard]] std::int64_t training_examples() const override { return whole_.training_examples(); }
    [[nodiscard]] hpo::libtorch::Batch training_batch(std::span<const std::int64_t> examples, torch::Device device) const override {
        return whole_.training_batch(examples, device);
    }
    [[nodiscard]] double training_step(hpo::libtorch::TrainingStep& step) const override { return step_(step); }
    [[nodiscard]] hpo::libtorch::Metrics evaluate(hpo::libtorch::Model& model, const hpo::libtorch::EvaluationPlan& plan) const override {
        return whole_.evaluate(model, plan);
    }

private:
    ring_gan::RingTask whole_{{.train = 40, .held_out = 10}, {.width = 8}};
    Step step_;
};

struct OtherTrainer final : hpo::libtorch::TorchTrainer {
    OtherStep::Step step;
    [[nodiscard]] hpo::TrainerInfo describe() const override {
        return {.name = "other", .metrics = {{"distance", hpo::Direction::minimize, ""}}};
    }
    std::unique_ptr<hpo::libtorch::Task> make_task(const hpo::Settings&, const hpo::TrainerJob&) override {
        return std::make_unique<OtherStep>(step);
    }
};

hpo::TrainerJob small_job() {
    hpo::TrainerJob job;
    job.metric = "distance";
    job.params = {{"train.batch_size", std::int64_t{10}}};
    job.options = {{"epochs", std::int64_t{1}}, {"threads", std::int64_t{1}}};
    return job;
}

/// What a check says of a step, and what a training does.
std::string problem_of(const OtherStep::Step& step) {
    OtherTrainer trainer;
    trainer.step = step;
    const auto problems = trainer.check(small_job());
    for (const auto& problem : problems) UNSCOPED_INFO(problem.where << ": " << problem.what);
    CHECK(problems.size() == 1);
    points::Recorder recorder;
    const auto outcome = trainer.run(small_job(), recorder);
    REQUIRE(outcome.failure);
    CHECK(problems.at(0).where == "training_step");
    const auto without_digits = [](std::string text) {  // the check's batches are smaller
        std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
        return text;
    };
    CHECK(without_digits(problems.at(0).what) == without_digits(outcome.failure->message));
    return outcome.failure->message;
}

void pass_and_backward(hpo::libtorch::TrainingStep& step) {
    step.each_micro_batch([&](const hpo::libtorch::Batch& batch) {
        auto& gan = step.model<ring_gan::Gan>();
        step.backward(gan.discriminator->forward(batch.inputs[0]).sum());
    });
}

}  // namespace

TEST_CASE("a task with two optimizers learns: its points come near those of the ring") {
    RingGan trainer;
    hpo::TrainerJob job = gan_job();
    job.options["epochs"] = std::int64_t{1};
    const double untrained = complete(trainer, job).values.at(0);
    job.options["train_examples"] = std::int64_t{2000};
    job.options["epochs"] = std::int64_t{40};
    CHECK(complete(trainer, job).values.at(0) < untrained / 5);
}

TEST_CASE("the contracts of trainers and of saved models hold for a step of the task's own") {
    const auto make = [] { return std::make_unique<RingGan>(); };
    const hpo::tests::TemporaryDirectory scratch;
    for (const auto& broken : {hpo::testing::trainer_contract_violations(make, gan_job()),
                               hpo::testing::saving_contract_violations(make, gan_job(), scratch.path())}) {
        for (const auto& problem : broken) UNSCOPED_INFO(problem.where << ": " << problem.what);
        CHECK(broken.empty());
    }
}

TEST_CASE("a dry run and a probe predict a step of the task's own, in one micro-batch and in several") {
    for (const std::int64_t micro : {100, 30}) {
        CAPTURE(micro);
        hpo::TrainerJob job = gan_job();
        job.plan.effective_batch = 100;
        job.plan.micro_batch = micro;
        RingGan trainer;
        const auto measured = complete(trainer, job).peak_allocated;
        points::Recorder nobody;
        CHECK(trainer.predict(job, hpo::PeakSource::dry_run, nobody).need == measured);
        const auto probed = static_cast<double>(trainer.predict(job, hpo::PeakSource::probe, nobody).need);
        CHECK(std::abs(probed / static_cast<double>(*measured) - 1) < 0.03);
    }
}

TEST_CASE("an update moves its part alone, and drops the gradients of the others") {
    std::vector<Weights> seen;
    const auto keep = [&](hpo::libtorch::TrainingStep& step) {
        auto& gan = step.model<ring_gan::Gan>();
        seen.push_back({gan.generator->hidden->weight.detach().clone(), gan.discriminator->hidden->weight.detach().clone()});
    };
    OtherTrainer trainer;
    trainer.step = [&](hpo::libtorch::TrainingStep& step) {
        auto& gan = step.model<ring_gan::Gan>();
        const auto through_both = [&] {
            step.each_micro_batch([&](const hpo::libtorch::Batch& batch) {
                const auto noise = torch::ones({batch.examples(), ring_gan::Gan::noise});
                step.backward(gan.discriminator->forward(gan.generator->forward(noise)).sum());
            });
        };
        keep(step);
        through_both();
        step.update("generator");
        CHECK_FALSE(gan.discriminator->hidden->weight.grad().defined());
        keep(step);
        through_both();
        step.update("discriminator", 0.5);
        keep(step);
        through_both();
        step.update();
        keep(step);
        return 0.0;
    };
    hpo::TrainerJob job = small_job();
    job.params["train.batch_size"] = std::int64_t{40};  // one step
    job.params["optim.kind"] = std::string{"sgd"};
    job.params["optim.momentum"] = 0.0;
    static_cast<void>(complete(trainer, job));
    REQUIRE(seen.size() == 4);
    CHECK_FALSE(seen[1].generator.equal(seen[0].generator));
    CHECK(seen[1].discriminator.equal(seen[0].discriminator));
    CHECK(seen[2].generator.equal(seen[1].generator));
    CHECK_FALSE(seen[2].discriminator.equal(seen[1].discriminator));
    CHECK_FALSE(seen[3].generator.equal(seen[2].generator));
    CHECK_FALSE(seen[3].discriminator.equal(seen[2].discriminator));
}

TEST_CASE("an update takes its share of the learning rate, and clips the gradients of its part alone, in fp32 and in bf16") {
    for (const hpo::Precision precision : {hpo::Precision::fp32, hpo::Precision::bf16}) {
        for (const double factor : {1.0, 0.25}) {
            for (const double clip : {0.0, 0.125}) {
                CAPTURE(to_text(precision), factor, clip);
                double bias = 0;  // how far each moved
                double all = 0;
                OtherTrainer trainer;
                trainer.step = [&](hpo::libtorch::TrainingStep& step) {
                    auto& gan = step.model<ring_gan::Gan>();
                    const auto weights = [&] {
                        std::vector<torch::Tensor> parts;
                        for (const auto& each : gan.discriminator->parameters()) parts.push_back(each.detach().flatten());
                        return torch::cat(parts).clone();
                    };
                    const torch::Tensor before = weights();
                    const double bias_before = gan.discriminator->head->bias.item<double>();
                    step.each_micro_batch([&](const hpo::libtorch::Batch& batch) {
                        // Its gradient is far longer than the discriminator's: a norm of both would clip more.
                        const torch::Tensor other = 1000 * gan.generator->head->bias.sum();
                        step.backward(step.in_precision([&] { return gan.discriminator->forward(batch.inputs[0]).sum() + other; })[0]);
                    });
                    step.update("discriminator", factor);
                    bias = bias_before - gan.discriminator->head->bias.item<double>();
                    all = (before - weights()).norm().item<double>();
                    return 0.0;
                };
                hpo::TrainerJob job = small_job();
                job.plan.precision = precision;
                job.params["train.batch_size"] = std::int64_t{40};  // one step
                job.params["optim.kind"] = std::string{"sgd"};
                job.params["optim.momentum"] = 0.0;
                job.params["optim.weight_decay"] = 0.0;
                job.params["optim.lr"] = 0.5;
                job.params["optim.clip_norm"] = clip;
                static_cast<void>(complete(trainer, job));
                // The derivative of an output by its bias is 1 in each example.
                if (clip == 0) CHECK(bias == Approx(0.5 * factor));
                else CHECK(all == Approx(0.5 * factor * clip).epsilon(1e-3));
            }
        }
    }
}

TEST_CASE("a further pass of a step gives the same batches, with loader workers, too") {
    for (const std::int64_t workers : {0, 2}) {
        CAPTURE(workers);
        OtherTrainer trainer;
        int steps = 0;
        trainer.step = [&](hpo::libtorch::TrainingStep& step) {
            std::vector<hpo::libtorch::Batch> first;
            step.each_micro_batch([&](const hpo::libtorch::Batch& batch) { first.push_back(batch); });
            std::size_t at = 0;
            step.each_micro_batch([&](const hpo::libtorch::Batch& batch) {
                CHECK(batch.inputs[0].equal(first.at(at).inputs[0]));
                CHECK(batch.targets.equal(first.at(at++).targets));
                step.backward(step.model<ring_gan::Gan>().discriminator->forward(batch.inputs[0]).sum());
            });
            CHECK(at == 4);  // of 3, 3, 3 and 1
            step.update("discriminator");
            ++steps;
            return 0.0;
        };
        hpo::TrainerJob job = small_job();
        job.plan.effective_batch = 10;
        job.plan.micro_batch = 3;
        job.options["loader_workers"] = workers;
        static_cast<void>(complete(trainer, job));
        CHECK(steps == 4);
    }
}

TEST_CASE("a step that leaves out what it must do is told, by a check and by a training") {
    CHECK(problem_of([](auto&) { return 0.0; }) == "training_step took no batch; expected a call of step.each_micro_batch");
    CHECK(problem_of([](auto& step) {
              pass_and_backward(step);
              return 0.0;
          }) == "training_step updated nothing; expected a call of step.update");
    CHECK(problem_of([](auto& step) {
              step.each_micro_batch([](const hpo::libtorch::Batch&) {});
              step.update();
              return 0.0;
          }) == "update: no gradients came since the last one; expected a call of step.backward first");
    CHECK(problem_of([](auto& step) {
              pass_and_backward(step);
              step.update("discriminator");
              pass_and_backward(step);
              return 0.0;
          }) == "training_step ends with gradients that no update used; expected a call of step.update after the last backward");
    CHECK(problem_of([](auto& step) {
              pass_and_backward(step);
              step.update("generator");
              return 0.0;
          }) == "update(\"generator\"): no parameter of it has a gradient; expected a backward pass through it first");
    CHECK(problem_of([](auto& step) {
              pass_and_backward(step);
              step.update("critic");
              return 0.0;
          }) == "update(\"critic\"): the model has no such part; its parts: generator, discriminator");
    for (const auto& [factor, text] : {std::pair{-1.0, "-1.0"}, std::pair{std::nan(""), "NaN"}}) {
        CHECK(problem_of([factor = factor](auto& step) {
                  pass_and_backward(step);
                  step.update("discriminator", factor);
                  return 0.0;
              }) == std::string{"update: got a rate factor of "} + text + "; expected a number of at least 0");
    }
    CHECK(problem_of([](auto& step) {
              step.each_micro_batch([&](const hpo::libtorch::Batch& batch) { step.backward(batch.inputs[0].sum()); });
              return 0.0;
          }) == "the loss has no gradient: nothing that learns is part of it");
    CHECK_THAT(problem_of([](auto& step) {
                   step.each_micro_batch([&](const hpo::libtorch::Batch& batch) {
                       step.backward(step.template model<ring_gan::Gan>().discriminator->forward(batch.inputs[0]));
                   });
                   return 0.0;
               }),
               Catch::StartsWith("the loss has shape [") && Catch::EndsWith("; expected one number"));
}

TEST_CASE("a loss of a task's own step that is no number ends the attempt as such") {
    OtherTrainer trainer;
    trainer.step = [](hpo::libtorch::TrainingStep& step) {
        pass_and_backward(step);
        step.update("discriminator");
        return std::nan("");
    };
    points::Recorder recorder;
    const auto outcome = trainer.run(small_job(), recorder);
    REQUIRE(outcome.failure);
    CHECK(outcome.failure->kind == hpo::FailureKind::non_finite);
}
