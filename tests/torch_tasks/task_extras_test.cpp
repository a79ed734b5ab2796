// SPDX-License-Identifier: MIT
// Augmentation, several outputs of a model, and the log that a task writes.
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "hpo/testing/saving_contract.hpp"
#include "hpo/testing/trainer_contract.hpp"
#include "hpo/torch/torch_trainer.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "torch/points.hpp"
#include "torch/prediction/dry_run.hpp"

namespace {

using hpo::libtorch::Batch;
using hpo::libtorch::Outputs;
using torch::Tensor;

/// A line and a second opinion of it.
struct TwoHeads final : hpo::libtorch::Model {
    TwoHeads() {
        first = register_module("first", hpo::libtorch::Linear{4, 256});
        value = register_module("value", hpo::libtorch::Linear{256, 1});
        spread = register_module("spread", hpo::libtorch::Linear{256, 2});
    }
    Outputs forward(const Batch& batch) override {
        const Tensor hidden = torch::tanh(first(batch.inputs.at(0)));
        return {{value(hidden).squeeze(1), spread(hidden)}};
    }
    hpo::libtorch::Linear first{nullptr};
    hpo::libtorch::Linear value{nullptr};
    hpo::libtorch::Linear spread{nullptr};
};

/// How a task of a test differs from one that keeps its promises.
struct Flaws {
    bool forgetful = false;    ///< augments from another generator each time
    bool wrong_count = false;  ///< augments to another number of examples
    bool of_first = false;     ///< changes all examples by the numbers of the first
    bool sizes = false;        ///< adds an input whose size is drawn
    bool schedule = false;     ///< adds one whose size follows the epoch, of which there are two
    bool short_batch = false;  ///< leaves out an example of more than two
    bool long_batch = false;   ///< adds one to more than two
    bool own_data = false;     ///< keeps a mebibyte on the device beside its data
};

/// 60 points whose sum is to be learnt. Each is moved a little at random in every epoch.
class NoisyTask final : public hpo::libtorch::Task {
public:
    explicit NoisyTask(Flaws flaws = {}) : flaws_{flaws} {
        if (flaws_.own_data) own_ = torch::zeros({1 << 18});
        const hpo::libtorch::Unmetered data_set;
        x_ = torch::linspace(-1, 1, 4 * 60).reshape({60, 4});
        y_ = x_.sum(1);
    }
    std::shared_ptr<hpo::libtorch::Model> build() override { return std::make_shared<TwoHeads>(); }
    [[nodiscard]] std::int64_t training_examples() const override { return 50; }
    [[nodiscard]] Batch training_batch(std::span<const std::int64_t> examples, torch::Device device) const override {
        const Tensor chosen = torch::tensor(std::vector<std::int64_t>(examples.begin(), examples.end()), torch::kLong);
        return {{x_.index_select(0, chosen).to(device)}, y_.index_select(0, chosen).to(device)};
    }
    [[nodiscard]] Batch augmented_batch(std::span<const std::int64_t> examples, torch::Device device,
                                        const hpo::libtorch::Epoch& epoch) const override {
        Batch batch = training_batch(examples, torch::kCPU);
        static std::uint64_t calls = 0;
        if (flaws_.forgetful) ++calls;
        for (std::size_t i = 0; i < examples.size(); ++i) {
            hpo::Rng rng = flaws_.forgetful ? hpo::Rng{calls} : epoch.rng_of(examples[flaws_.of_first ? 0 : i]);
            const double moved = 0.1 * rng.uniform();
            batch.inputs[0][static_cast<std::int64_t>(i)] += moved;
        }
        if (flaws_.sizes) {
            const auto width = static_cast<std::int64_t>(epoch.rng_of(examples[0]).below(4));
            batch.inputs.push_back(torch::zeros({batch.examples(), width}));
        }
        if (flaws_.schedule) batch.inputs.push_back(torch::zeros({batch.examples(), std::vector<std::int64_t>{3, 1}.at(epoch.number - 1)}));
        if (flaws_.short_batch && examples.size() > 2) batch = {{batch.inputs[0].slice(0, 1)}, batch.targets.slice(0, 1)};
        if (flaws_.long_batch && examples.size() > 2)
            batch = {{torch::cat({batch.inputs[0], batch.inputs[0].slice(0, 0, 1)})},
                     torch::cat({batch.targets, batch.targets.slice(0, 0, 1)})};
        if (flaws_.wrong_count) batch.inputs[0] = batch.inputs[0].slice(0, 1);
        for (std::int64_t i = 0; seen && i < batch.examples(); ++i)
            seen->push_back({epoch.number, examples[static_cast<std::size_t>(i)], batch.inputs[0][i][0].item<double>()});
        batch.inputs[0] = batch.inputs[0].to(device);
        batch.targets = batch.targets.to(device);
        return batch;
    }
    [[nodiscard]] Tensor loss_sum(const Outputs& outputs, const Batch& batch) const override {
        return (outputs[0] - batch.targets).pow(2).sum() + (outputs[1].sum(1) - batch.targets).pow(2).sum();
    }
    [[nodiscard]] hpo::libtorch::Metrics evaluate(hpo::libtorch::Model& model, const hpo::libtorch::EvaluationPlan& plan) const override {
        double sum = 0;
        for (std::int64_t at = 50; at < 60; at += plan.batch_examples) {
            const std::int64_t end = std::min<std::int64_t>(at + plan.batch_examples, 60);
            const Batch batch{{x_.slice(0, at, end).to(plan.device)}, y_.slice(0, at, end).to(plan.device)};
            const Outputs outputs = model.forward(batch).in_fp32();
            sum += (outputs[0] - batch.targets).pow(2).sum().item<double>() + outputs[1].pow(2).sum().item<double>();
        }
        log("measured " + std::to_string(sum));
        return {{"error", sum / 10}};
    }

    /// An example as a training saw it.
    struct Seen {
        std::int64_t epoch;
        std::int64_t example;
        double first;
        friend auto operator<=>(const Seen&, const Seen&) = default;
    };
    std::vector<Seen>* seen = nullptr;

private:
    Flaws flaws_;
    Tensor own_;
    Tensor x_;  ///< [60, 4]
    Tensor y_;  ///< [60]
};

struct NoisyTrainer final : hpo::libtorch::TorchTrainer {
    Flaws flaws;
    std::vector<NoisyTask::Seen>* seen = nullptr;
    [[nodiscard]] hpo::TrainerInfo describe() const override {
        return {.name = "noisy", .summary = "for a test", .metrics = {{"error", hpo::Direction::minimize, "mean square"}}};
    }
    std::unique_ptr<hpo::libtorch::Task> make_task(const hpo::Settings&, const hpo::TrainerJob&) override {
        auto task = std::make_unique<NoisyTask>(flaws);
        task->seen = seen;
        return task;
    }
};

hpo::TrainerJob noisy_job(std::int64_t micro) {
    hpo::TrainerJob job;
    job.metric = "error";
    job.params = {{"train.batch_size", std::int64_t{20}}, {"optim.lr", 0.01}};
    job.options = {{"epochs", std::int64_t{3}}, {"threads", std::int64_t{1}}, {"checkpoint_seconds", 0.0}};
    job.plan.effective_batch = 20;
    job.plan.micro_batch = micro;
    job.seed = 5;
    return job;
}

hpo::AttemptOutcome complete_noisy(NoisyTrainer& trainer, const hpo::TrainerJob& asked) {
    points::Recorder recorder;
    auto outcome = trainer.run(asked, recorder);
    INFO((outcome.failure ? outcome.failure->message : ""));
    REQUIRE(outcome.kind == hpo::OutcomeKind::complete);
    return outcome;
}

std::vector<NoisyTask::Seen> seen_in(const hpo::TrainerJob& asked) {
    NoisyTrainer trainer;
    std::vector<NoisyTask::Seen> seen;
    trainer.seen = &seen;
    static_cast<void>(complete_noisy(trainer, asked));
    std::sort(seen.begin(), seen.end());
    return seen;
}

std::vector<std::string> problems_of(Flaws flaws) {
    NoisyTrainer trainer;
    trainer.flaws = flaws;
    std::vector<std::string> lines;
    for (const auto& problem : trainer.check(noisy_job(20))) lines.push_back(problem.where + ": " + problem.what);
    return lines;
}

}  // namespace

TEST_CASE("an example is augmented the same in whatever micro-batch, and differently in every epoch and trial") {
    const auto whole = seen_in(noisy_job(20));
    REQUIRE(whole.size() == 3 * 50);
    for (const std::int64_t micro : {1, 7}) CHECK((seen_in(noisy_job(micro)) == whole));
    for (std::size_t i = 0; i < 50; ++i) {
        CHECK(whole[i].example == whole[50 + i].example);
        CHECK(whole[i].first != whole[50 + i].first);
    }
    hpo::TrainerJob other = noisy_job(20);
    other.seed = 6;
    CHECK((seen_in(other) != whole));
}

TEST_CASE("an augmented training has the same values with loader workers and in micro-batches") {
    NoisyTrainer trainer;
    const auto alone = complete_noisy(trainer, noisy_job(20));
    hpo::TrainerJob with_workers = noisy_job(20);
    with_workers.options["loader_workers"] = std::int64_t{2};
    CHECK(complete_noisy(trainer, with_workers).values == alone.values);
    CHECK(complete_noisy(trainer, noisy_job(7)).values.at(0) == Approx(alone.values.at(0)));
}

TEST_CASE("the contracts hold for a model of two outputs whose examples are augmented, resumed trials included") {
    const auto make = [] { return std::make_unique<NoisyTrainer>(); };
    const hpo::tests::TemporaryDirectory scratch;
    for (const auto& broken : {hpo::testing::trainer_contract_violations(make, noisy_job(20)),
                               hpo::testing::saving_contract_violations(make, noisy_job(20), scratch.path())}) {
        for (const auto& problem : broken) UNSCOPED_INFO(problem.where << ": " << problem.what);
        CHECK(broken.empty());
    }
}

TEST_CASE("a dry run predicts a model of two outputs, and at most the gradient of what both read above it") {
    NoisyTrainer trainer;
    points::Recorder nobody;
    const std::int64_t predicted = trainer.predict(noisy_job(7), hpo::PeakSource::dry_run, nobody).need;
    const std::int64_t measured = *complete_noisy(trainer, noisy_job(7)).peak_allocated;
    const std::int64_t gradient =
        7 * 256 * 4;  // LibTorch 2 adds the outputs' shares in a new block on the meta device, and in place elsewhere
    CHECK(predicted >= measured);
    CHECK(predicted <= measured + gradient);

    NoisyTrainer keeper;
    keeper.flaws = {.own_data = true};
    const hpo::PeakPrediction with_data = keeper.predict(noisy_job(7), hpo::PeakSource::dry_run, nobody);
    CHECK(with_data.need == predicted + (1 << 20));
    CHECK(with_data.parts.back().name == "held");
    CHECK(complete_noisy(keeper, noisy_job(7)).peak_allocated == measured + (1 << 20));
}

TEST_CASE("a check notices an augmentation that is not the epoch's, or of other examples") {
    CHECK(problems_of({}).empty());
    CHECK(problems_of({.forgetful = true}) ==
          std::vector<std::string>{
              "augmented_batch: the same epoch and examples give another batch when asked again; expected random numbers "
              "from epoch.rng_of(example) alone"});
    CHECK(problems_of({.wrong_count = true}) ==
          std::vector<std::string>{
              "augmented_batch: input 0 of shape [1, 4] for 2 examples; expected a first dimension that counts the examples"});
    CHECK(problems_of({.of_first = true}) ==
          std::vector<std::string>{"augmented_batch: example 1 is another one alone than after example 0 in the same epoch; "
                                   "expected the examples in the order asked for, each by itself and with random numbers from "
                                   "epoch.rng_of(example) alone, or mixes_examples() to return true"});
    CHECK(problems_of({.schedule = true}).empty());
    const auto sizes = problems_of({.sizes = true});
    REQUIRE(sizes.size() == 1);
    CHECK_THAT(sizes[0], Catch::StartsWith("augmented_batch: input 1 of the same examples has shape [2, ") &&
                             Catch::EndsWith("expected sizes that do not depend on what is drawn"));
}

TEST_CASE("a batch of fewer or more examples than asked for is an error that tells both counts, with loader workers, too") {
    for (const auto& [flaws, told, seen_by_check] :
         {std::tuple{Flaws{.short_batch = true}, "a batch of 19 examples where 20 were asked for", "targets of shape [19] for 20 examples"},
          std::tuple{Flaws{.long_batch = true}, "a batch of 21 examples where 20 were asked for",
                     "targets of shape [21] for 20 examples"}}) {
        for (const std::int64_t workers : {0, 2}) {
            CAPTURE(told, workers);
            NoisyTrainer trainer;
            trainer.flaws = flaws;
            hpo::TrainerJob job = noisy_job(20);
            job.options["loader_workers"] = workers;
            points::Recorder recorder;
            const auto outcome = trainer.run(job, recorder);
            REQUIRE(outcome.failure);
            CHECK(outcome.failure->kind == hpo::FailureKind::bad_batch);
            CHECK(outcome.failure->where == "batch");
            CHECK_THAT(outcome.failure->message, Catch::StartsWith(told));
        }
        const auto problems = problems_of(flaws);
        REQUIRE(problems.size() == 1);
        CHECK_THAT(problems[0], Catch::StartsWith("augmented_batch: ") && Catch::Contains(seen_by_check));
    }
}

TEST_CASE("a loader that is asked for more batches than there are throws, with workers, too") {
    const NoisyTask task;
    for (const std::int64_t workers : {0, 2}) {
        hpo::libtorch::BatchLoader loader{
            task, {.order = {3, 1, 2}, .effective_batch = 2, .micro_batch = 2, .workers = workers}, torch::kCPU};
        CHECK(loader.next().examples() == 2);
        CHECK(loader.next().examples() == 1);
        CHECK_THROWS_WITH(loader.next(), "a batch is asked for after the last of the epoch's 2");
        CHECK_THROWS_WITH(loader.next(), "a batch is asked for after the last of the epoch's 2");
    }
}

TEST_CASE("one output of several must be named") {
    const Outputs two{{torch::ones({2}), torch::zeros({2, 3})}};
    CHECK_THROWS_WITH(two.only(), "the model has 2 outputs where one is expected; name one: outputs[0]");
    CHECK_THROWS_WITH(two[2], "outputs[2]: the model has 2 outputs, counted from 0");
    CHECK(two[1].sizes() == at::IntArrayRef{2, 3});
    const Outputs one{torch::ones({2})};
    const Tensor& alone = one;
    CHECK(alone.sum().item<double>() == 2);
}

TEST_CASE("what a task logs is in the attempt's log, and predictions and checks log nothing") {
    NoisyTrainer trainer;
    points::Recorder recorder;
    REQUIRE(trainer.run(noisy_job(20), recorder).kind == hpo::OutcomeKind::complete);
    const auto told =
        std::count_if(recorder.lines.begin(), recorder.lines.end(), [](const auto& line) { return line.starts_with("measured "); });
    CHECK(told == 3);
    points::Recorder predicted;
    static_cast<void>(trainer.predict(noisy_job(20), hpo::PeakSource::dry_run, predicted));
    static_cast<void>(trainer.predict(noisy_job(20), hpo::PeakSource::probe, predicted));
    static_cast<void>(trainer.stoppable_check(noisy_job(20), predicted));
    for (const std::string& line : predicted.lines) CHECK_THAT(line, !Catch::StartsWith("measured "));
}
