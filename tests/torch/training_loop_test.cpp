// SPDX-License-Identifier: MIT
#include "torch/prediction/dry_run.hpp"

#include <torch/torch.h>

#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "hpo/torch/checkpointing.hpp"
#include "hpo/torch/torch_trainer.hpp"
#include "hpo/torch/training/evaluation.hpp"
#include "hpo/torch/training/loop.hpp"
#include "hpo/torch/training/step.hpp"
#include "points.hpp"
#include "support/catch.hpp"

using namespace hpo::libtorch;
using namespace points;

namespace {

/// The gradients of one step over examples 0 to count-1, one after the other.
torch::Tensor gradients(std::int64_t count, std::int64_t micro) {
    const Points task;
    torch::manual_seed(3);
    TwoLayers model;
    std::vector<std::int64_t> examples(static_cast<std::size_t>(count));
    std::iota(examples.begin(), examples.end(), std::int64_t{0});
    Recorder recorder;
    const AttemptSettings settings;
    RunningAttempt attempt{settings, recorder};
    BatchLoader loader{task, {.order = examples, .effective_batch = count, .micro_batch = micro}, attempt.device()};
    Optimizer optimizer{{}, parameter_groups(model, {}, 1)};
    LossScale loss_scale;
    TrainingStep step{{.task = task,
                       .model = model,
                       .loader = loader,
                       .optimizer = optimizer,
                       .loss_scale = loss_scale,
                       .attempt = attempt,
                       .examples = count}};
    accumulate_gradients(task, step);
    std::vector<torch::Tensor> flat;
    for (const auto& parameter : model.parameters()) flat.push_back(parameter.grad().flatten());
    return torch::cat(flat);
}

}  // namespace

TEST_CASE("gradients over micro-batches are those of one large batch, also with a short last one") {
    const auto whole = gradients(50, 50);
    for (const std::int64_t micro : {1, 7, 16, 25, 49, 50, 1000}) {
        CAPTURE(micro);
        const auto parts = gradients(50, micro);
        CHECK((parts - whole).norm().item<double>() < 1e-5 * whole.norm().item<double>());
    }
    CHECK((gradients(25, 25) - whole).norm().item<double>() > 1e-2 * whole.norm().item<double>());
}

TEST_CASE("a plan's micro-batch does not change what is trained") {
    PointsTrainer trainer;
    Recorder whole;
    Recorder parts;
    const auto a = trainer.run(job(20, 20), whole);
    const auto b = trainer.run(job(20, 3), parts);
    REQUIRE(a.kind == hpo::OutcomeKind::complete);
    REQUIRE(b.kind == hpo::OutcomeKind::complete);
    CHECK(a.values == b.values);
    CHECK_FALSE(b.approximate);
    REQUIRE(whole.reports.size() == 4);
    CHECK(whole.reports[0].step == 1);
    REQUIRE(whole.lines.size() == 4);
    CHECK_THAT(whole.lines[0], Catch::StartsWith("epoch 1 of 4: training loss ") && Catch::Contains("accuracy"));
    CHECK(whole.reports[3].value == a.values[0]);
    CHECK(a.attributes.at("accuracy") == hpo::number_text(a.values[0]));
    CHECK(a.values[0] > 0.5);
}

TEST_CASE("batches that are accumulated train as one large batch does, from one of them in memory down") {
    PointsTrainer trainer;
    const auto run = [&](std::int64_t batch, std::int64_t batches, std::optional<std::int64_t> micro) {
        hpo::TrainerJob asked = job(batch, 1);
        asked.params["train.grad_accum"] = batches;
        asked.plan.micro_batch = micro;
        Recorder recorder;
        const auto outcome = trainer.run(asked, recorder);
        REQUIRE(outcome.kind == hpo::OutcomeKind::complete);
        return outcome;
    };
    const auto whole = run(20, 1, std::nullopt);
    for (const std::optional<std::int64_t> micro : {std::optional<std::int64_t>{}, {5}, {4}, {3}, {1}}) {
        const auto parts = run(5, 4, micro);
        CAPTURE(micro.value_or(0));
        CHECK(parts.values == whole.values);
        CHECK(parts.attributes == whole.attributes);
    }
    CHECK(run(5, 1, std::nullopt).attributes != whole.attributes);
    CHECK(run(25, 2, std::nullopt).peak_allocated < run(50, 1, std::nullopt).peak_allocated);
    CHECK(run(25, 2, 50).peak_allocated == run(25, 2, 25).peak_allocated);
}

TEST_CASE("the same seed gives the same values, another seed others") {
    PointsTrainer trainer;
    trainer.change = [](Points& task) { task.loss_factor = 1; };
    Recorder first;
    Recorder second;
    Recorder third;
    static_cast<void>(trainer.run(job(8, 8), first));
    static_cast<void>(trainer.run(job(8, 8), second));
    auto other = job(8, 8);
    other.seed = 12;
    static_cast<void>(trainer.run(other, third));
    const auto values = [](const Recorder& recorder) {
        std::vector<double> all;
        for (const auto& report : recorder.reports) all.push_back(report.value);
        return all;
    };
    CHECK(values(first) == values(second));
    CHECK(values(first) != values(third));
}

TEST_CASE("accumulated steps of a model that mixes examples are marked approximate") {
    PointsTrainer trainer;
    trainer.change = [](Points& task) { task.mixes = true; };
    Recorder recorder;
    CHECK_FALSE(trainer.run(job(20, 20), recorder).approximate);
    CHECK(trainer.run(job(20, 10), recorder).approximate);
    auto accumulated = job(10, 10);
    accumulated.params["train.grad_accum"] = std::int64_t{2};
    CHECK_FALSE(trainer.run(accumulated, recorder).approximate);
    accumulated.plan.micro_batch = 5;
    CHECK(trainer.run(accumulated, recorder).approximate);
}

TEST_CASE("an attempt tells its memory at start, in training, and at its end, and holds nothing afterwards") {
    PointsTrainer trainer;
    Recorder recorder;
    static_cast<void>(trainer.run(job(20, 10), recorder));
    const std::int64_t before = MeteredAllocator::instance().allocated_bytes();
    recorder.marks.clear();
    const auto outcome = trainer.run(job(20, 10), recorder);
    CHECK(recorder.mark_names() == std::vector<std::string>{"trial_start", "training_start", "step", "training_end", "end"});
    CHECK(recorder.marks[1].reading.allocated > recorder.marks[0].reading.allocated);
    CHECK(recorder.marks[2].step == 1);
    CHECK(recorder.marks[2].reading.allocated > recorder.marks[1].reading.allocated);  // the activations
    CHECK(recorder.marks[4].reading.allocated == before);
    CHECK(outcome.peak_allocated > recorder.marks[1].reading.allocated);
}

TEST_CASE("an attempt that others wait for caps itself at what its first epoch has shown") {
    PointsTrainer trainer;
    const auto settled = [&](const hpo::TrainerJob& job, hpo::AttemptOutcome& outcome) {
        Recorder recorder;
        outcome = trainer.run(job, recorder);
        std::vector<std::int64_t> limits;
        for (const hpo::MemoryMark& mark : recorder.marks) {
            if (mark.name == hpo::settled_mark) limits.push_back(*mark.reading.limit);
        }
        return limits;
    };
    hpo::AttemptOutcome outcome;
    CHECK(settled(job(20, 20), outcome).empty());
    const auto values = outcome.values;
    // With one step an epoch the first has no optimizer's state when the activations are held, and the second has.
    for (const std::int64_t batch : {20, 50}) {
        CAPTURE(batch);
        hpo::TrainerJob asked = job(batch, batch);
        asked.settles = true;
        const auto limits = settled(asked, outcome);
        REQUIRE(outcome.kind == hpo::OutcomeKind::complete);
        REQUIRE(limits.size() == 1);
        CHECK(limits[0] == *outcome.peak_reserved + *outcome.peak_reserved / 16);
        if (batch == 20) CHECK(outcome.values == values);
        asked.plan.cap_bytes = limits[0];
        CHECK(settled(asked, outcome).empty());
        CHECK(outcome.kind == hpo::OutcomeKind::complete);
        asked.plan.cap_bytes.reset();
        asked.options["epochs"] = std::int64_t{1};
        CHECK(settled(asked, outcome).empty());
    }
    // One that takes more later fails at its cap, and the next attempt has none.
    hpo::TrainerJob asked = job(20, 20);
    asked.settles = true;
    trainer.change = [](Points& task) { task.at_end = [](Model&) { static_cast<void>(torch::zeros({1 << 20})); }; };
    const auto limits = settled(asked, outcome);
    REQUIRE(limits.size() == 1);
    REQUIRE(outcome.failure);
    CHECK(outcome.failure->kind == hpo::FailureKind::out_of_memory);
    CHECK(outcome.failure->memory.limit == limits[0]);
    trainer.change = [](Points&) {};
    CHECK(settled(job(20, 20), outcome).empty());
    CHECK(outcome.kind == hpo::OutcomeKind::complete);
}

TEST_CASE("an attempt stops when it is pruned and when it is asked to") {
    PointsTrainer trainer;
    Recorder pruned;
    pruned.stop_after = 2;
    CHECK(trainer.run(job(20, 20), pruned).kind == hpo::OutcomeKind::stopped);
    CHECK(pruned.reports.size() == 2);
    CHECK_FALSE(pruned.last);
    Recorder whole;
    CHECK(trainer.run(job(20, 20), whole).kind == hpo::OutcomeKind::complete);
    CHECK(whole.last == whole.reports.back().step);  // told before that report
    Recorder asked;
    asked.stop = true;
    CHECK(trainer.run(job(20, 20), asked).kind == hpo::OutcomeKind::stopped);
    CHECK(asked.reports.empty());
}

TEST_CASE("a label outside the classes is a bad batch that names the configuration") {
    PointsTrainer trainer;
    trainer.change = [](Points& task) { task.y[17] = 9; };
    Recorder recorder;
    const auto outcome = trainer.run(job(50, 50), recorder);
    REQUIRE(outcome.failure);
    CHECK(outcome.kind == hpo::OutcomeKind::failed);
    CHECK(outcome.failure->kind == hpo::FailureKind::bad_batch);
    CHECK(outcome.failure->where == "batch");
    CHECK_THAT(outcome.failure->message, Catch::Contains("label 9") && Catch::Contains("expected 0 to 2") &&
                                             Catch::Contains("train.batch_size = 50") && Catch::Contains("optim.lr = 0.01"));
    const auto problems = trainer.check(job(50, 50));
    REQUIRE(problems.size() == 1);
    CHECK_THAT(problems[0].what, Catch::Contains("label 9"));
}

TEST_CASE("logits of another width than the classes are a bad batch") {
    PointsTrainer trainer;
    trainer.change = [](Points& task) { task.told_classes = 4; };
    Recorder recorder;
    const auto outcome = trainer.run(job(50, 25), recorder);
    REQUIRE(outcome.failure);
    CHECK(outcome.failure->kind == hpo::FailureKind::bad_batch);
    CHECK(outcome.failure->where == "forward");
    CHECK_THAT(outcome.failure->message, Catch::Contains("logits of shape [25, 3]; expected [25, 4]"));
}

TEST_CASE("a task that is not there, builds nothing, or has nothing to train on fails its attempt and nothing else") {
    PointsTrainer trainer;
    Recorder recorder;
    const auto message = [&] {
        const auto outcome = trainer.run(job(50, 50), recorder);
        const auto problems = trainer.check(job(50, 50));
        REQUIRE(outcome.failure);
        REQUIRE(problems.size() == 1);
        CHECK(problems[0].what == outcome.failure->message);
        const std::string what = problems[0].what.substr(0, problems[0].what.find("; configuration: "));
        CHECK_THROWS_WITH(trainer.predict(job(50, 50), hpo::PeakSource::dry_run, recorder), Catch::Contains(what));
        return outcome.failure->message;
    };
    trainer.change = [](Points& task) { task.make_model = [] { return std::shared_ptr<Model>{}; }; };
    CHECK_THAT(message(), Catch::Contains("the task built no model"));
    trainer.change = [](Points& task) { task.x = task.x.slice(0, 0, 0); };
    CHECK_THAT(message(), Catch::Contains("the task has 0 training examples"));
    trainer.change = [](Points&) {};
    CHECK(trainer.run(job(50, 50), recorder).kind == hpo::OutcomeKind::complete);

    struct NoTask final : TorchTrainer {
        hpo::TrainerInfo describe() const override { return PointsTrainer{}.describe(); }
        std::unique_ptr<Task> make_task(const hpo::Settings&, const hpo::TrainerJob&) override { return nullptr; }
    } none;
    CHECK_THAT(none.run(job(50, 50), recorder).failure.value().message, Catch::Contains("the trainer made no task"));
}

TEST_CASE("a loss that is not a number ends the attempt as non-finite") {
    PointsTrainer trainer;
    trainer.change = [](Points& task) { task.loss_factor = std::nan(""); };
    Recorder recorder;
    const auto outcome = trainer.run(job(50, 50), recorder);
    REQUIRE(outcome.failure);
    CHECK(outcome.failure->kind == hpo::FailureKind::non_finite);
    CHECK_THAT(outcome.failure->message, Catch::Contains("the loss is NaN in training"));
}

TEST_CASE("what the trainer does not know is refused with what it knows") {
    PointsTrainer trainer;
    Recorder recorder;
    auto wrong = job(50, 50);
    wrong.params.emplace("optim.learning_rate", 0.1);
    auto outcome = trainer.run(wrong, recorder);
    REQUIRE(outcome.failure);
    CHECK(outcome.failure->kind == hpo::FailureKind::trainer_error);
    CHECK_THAT(outcome.failure->message, Catch::Contains("unknown parameter 'optim.learning_rate'") && Catch::Contains("optim.lr"));

    auto metric = job(50, 50);
    metric.metric = "acuracy";
    outcome = trainer.run(metric, recorder);
    REQUIRE(outcome.failure);
    CHECK_THAT(outcome.failure->message, Catch::Contains("did you mean 'accuracy'?"));

    auto device = job(50, 50);
    device.plan.device = "cuda:7";
    outcome = trainer.run(device, recorder);
    REQUIRE(outcome.failure);
    CHECK_THAT(outcome.failure->message, Catch::Contains("cuda:7"));

    auto precision = job(50, 50);
    precision.plan.precision = hpo::Precision::fp16;
    outcome = trainer.run(precision, recorder);
    REQUIRE(outcome.failure);
    CHECK_THAT(outcome.failure->message, Catch::Contains("got precision fp16; expected fp32 or bf16"));
}

TEST_CASE("a profile counts parameters exactly and measures the rest") {
    PointsTrainer trainer;
    auto adamw = job(20, 20);
    const auto profile = trainer.profile(adamw);
    REQUIRE(profile);
    constexpr std::int64_t numbers = 6 * 16 + 16 + 16 * 3 + 3;
    CHECK(profile->parameters == numbers);
    CHECK(profile->trainable_parameters == numbers);
    CHECK(profile->weight_bytes == 4 * numbers);
    CHECK(profile->gradient_bytes == 4 * numbers);
    CHECK(profile->optimizer_bytes >= 8 * numbers);
    CHECK(profile->optimizer_bytes < 8 * numbers + 256);
    CHECK(profile->activation_bytes_per_example >= 4 * (6 + 16));
    CHECK(profile->activation_bytes_per_example < 4 * 8 * (6 + 16 + 3));
    auto sgd = job(20, 20);
    sgd.params["optim.kind"] = std::string{"sgd"};
    sgd.params["optim.momentum"] = 0.0;
    CHECK(trainer.profile(sgd)->optimizer_bytes < 256);
}

TEST_CASE("schedules warm up, stay, and fall") {
    const Schedule constant{ScheduleKind::constant, 0};
    CHECK(constant.factor({.number = 0, .of = 10}) == 1);
    CHECK(constant.factor({.number = 9, .of = 10}) == 1);
    const Schedule linear{ScheduleKind::linear, 0.2};
    CHECK(linear.factor({.number = 0, .of = 10}) == Approx(1.0 / 3));
    CHECK(linear.factor({.number = 1, .of = 10}) == Approx(2.0 / 3));
    CHECK(linear.factor({.number = 2, .of = 10}) == 1);
    CHECK(linear.factor({.number = 6, .of = 10}) == Approx(0.5));
    const Schedule cosine{ScheduleKind::cosine, 0};
    CHECK(cosine.factor({.number = 0, .of = 10}) == 1);
    CHECK(cosine.factor({.number = 5, .of = 10}) == Approx(0.5));
    CHECK(cosine.factor({.number = 9, .of = 10}) == Approx(0.5 * (1 + std::cos(0.9 * 3.14159265358979))));
}

TEST_CASE("a recomputed segment gives the same output and gradients with dropout, and keeps less") {
    const auto measure = [](bool recompute) {
        torch::manual_seed(5);
        torch::nn::Linear wide{32, 512};
        torch::nn::Dropout dropout{0.5};
        torch::nn::Linear narrow{512, 4};
        const auto x = torch::randn({64, 32});  // needs no gradient, as a batch
        const Segment segment = [&](const torch::Tensor& input) { return narrow(dropout(torch::relu(wide(input)))); };
        const auto before = MeteredAllocator::instance().allocated_bytes();
        const auto y = recompute ? recomputed(segment, x) : segment(x);
        const auto held = MeteredAllocator::instance().allocated_bytes() - before;
        y.pow(2).sum().backward();
        const auto after = torch::rand({1});  // the generator goes on as if nothing had been computed twice
        return std::tuple{torch::cat({y.detach().flatten(), wide->weight.grad().flatten(), narrow->bias.grad(), after}), held};
    };
    MeteredAllocator::install();
    const auto [plain, plain_held] = measure(false);
    const auto [again, again_held] = measure(true);
    CHECK(torch::equal(plain, again));
    CHECK(again_held < plain_held / 4);
}

TEST_CASE("a classifier's score is that of its confusion matrix") {
    ClassificationScore score{3};
    const auto labels = torch::tensor(std::vector<std::int64_t>{0, 0, 1, 1, 1, 1}, torch::kLong);
    const auto answers = torch::tensor(std::vector<std::int64_t>{0, 1, 1, 1, 1, 0}, torch::kLong);
    score.add(torch::one_hot(answers, 3).to(torch::kFloat), labels);
    CHECK(score.accuracy() == Approx(4.0 / 6));
    // F1: 2*1/(2+2), 2*3/(4+4), and 0 for the class that is never seen.
    CHECK(score.macro_f1() == Approx((0.5 + 0.75 + 0) / 3));
    CHECK(score.loss() > 0);
}
