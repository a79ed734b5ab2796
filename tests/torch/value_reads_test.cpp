// SPDX-License-Identifier: MIT
#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hpo/device/metered_device.hpp"
#include "hpo/torch/recording/value_reads.hpp"
#include "points.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using Catch::Contains;
using hpo::PeakPrediction;
using hpo::PeakSource;
using hpo::TrainerJob;

namespace {

using Change = std::function<torch::Tensor(const torch::Tensor& hidden)>;

/// Two layers; `between` changes what goes from one to the other.
struct Changed final : points::Model {
    explicit Changed(Change wanted) : between{std::move(wanted)} {}
    hpo::libtorch::Outputs forward(const points::Batch& batch) override { return second(between(first(batch.inputs.at(0)))); }

    Change between;
    torch::nn::Linear first{register_module("first", torch::nn::Linear{6, 16})};
    torch::nn::Linear second{register_module("second", torch::nn::Linear{16, 3})};
};

/// Points whose evaluation, model, loss and building a test may change.
struct ChangedPoints final : points::Task {
    std::shared_ptr<points::Model> build() override {
        in_build();
        return std::make_shared<Changed>(between);
    }
    [[nodiscard]] std::int64_t training_examples() const override { return whole.training_examples(); }
    [[nodiscard]] points::Batch training_batch(std::span<const std::int64_t> examples, torch::Device device) const override {
        return whole.training_batch(examples, device);
    }
    [[nodiscard]] torch::Tensor loss_sum(const hpo::libtorch::Outputs& outputs, const points::Batch& batch) const override {
        in_loss(outputs, batch);
        return whole.loss_sum(outputs, batch);
    }
    [[nodiscard]] points::Metrics evaluate(points::Model& model, const points::EvaluationPlan& plan) const override {
        return {{"accuracy", in_evaluation(model.forward(whole.training_batch(whole.heaviest_batch(30), plan.device)))}};
    }

    points::Points whole;
    Change between = [](const torch::Tensor& hidden) { return hidden; };
    std::function<void()> in_build = [] {};
    std::function<void(const torch::Tensor&, const points::Batch&)> in_loss = [](const torch::Tensor&, const points::Batch&) {};
    std::function<double(const torch::Tensor&)> in_evaluation = [](const torch::Tensor&) { return 0.5; };
};

struct ChangedTrainer final : points::TorchTrainer {
    std::function<void(ChangedPoints&)> change;
    explicit ChangedTrainer(std::function<void(ChangedPoints&)> wanted) : change{std::move(wanted)} {}
    hpo::TrainerInfo describe() const override {
        hpo::TrainerInfo info;
        info.name = "changed";
        info.metrics = {{"accuracy", hpo::Direction::maximize, ""}};
        return info;
    }
    std::unique_ptr<points::Task> make_task(const hpo::Settings&, const TrainerJob&) override {
        const hpo::libtorch::Unmetered data_set;
        auto task = std::make_unique<ChangedPoints>();
        change(*task);
        return task;
    }
};

PeakPrediction predicted(hpo::Trainer& trainer, PeakSource source = PeakSource::dry_run, TrainerJob job = points::job(20, 20)) {
    points::Recorder nobody;
    return trainer.predict(job, source, nobody);
}

std::int64_t measured(hpo::Trainer& trainer) {
    const hpo::tests::TemporaryDirectory place;
    const auto device = hpo::device::MeteredDevice::create(place.path() / "device", std::int64_t{1} << 30);
    TrainerJob job = points::job(20, 20);
    job.metered_device = (place.path() / "device").string();
    points::Recorder nobody;
    const auto outcome = trainer.run(job, nobody);
    CAPTURE(outcome.failure ? outcome.failure->message : "");
    REQUIRE(outcome.kind == hpo::OutcomeKind::complete);
    return outcome.peak_allocated.value();
}

ChangedTrainer with_forward(Change between) {
    return ChangedTrainer{[between = std::move(between)](ChangedPoints& task) { task.between = between; }};
}
ChangedTrainer with_evaluation(std::function<double(const torch::Tensor&)> evaluation) {
    return ChangedTrainer{[evaluation = std::move(evaluation)](ChangedPoints& task) { task.in_evaluation = evaluation; }};
}

/// As some networks do, until what they compute settles.
torch::Tensor settled(torch::Tensor x) {
    while (x.norm().item<float>() > 1e-3F) x = torch::tanh(x) * 0.1;
    return x;
}

struct Reading {
    std::string name;
    Change read;
};

}  // namespace

TEST_CASE("a forward pass that reads numbers is left to the probe, which has them") {
    ChangedTrainer trainer = with_forward(&settled);
    CHECK_THROWS_WITH(predicted(trainer), Contains("reads numbers from tensors (item, in its phase forward)"));
    const PeakPrediction probed = predicted(trainer, PeakSource::probe);
    CHECK(static_cast<double>(probed.need) * (1 + probed.uncertainty) >= static_cast<double>(measured(trainer)));
    CHECK(probed.uncertainty > 0);
    ChangedTrainer plain = with_forward([](const torch::Tensor& hidden) { return hidden; });
    CHECK(predicted(plain).need < predicted(trainer, PeakSource::probe).need);  // what the loop keeps
    CHECK(predicted(plain).uncertainty == 0);
    CHECK(predicted(plain).need == Approx(measured(plain)).epsilon(1e-3));
}

TEST_CASE("no way of reading a tensor's numbers passes a dry run unnoticed") {
    const auto if_true = [](bool larger, const torch::Tensor& x) { return larger ? torch::cat({x, x}, 1).slice(1, 0, 16) : x; };
    const std::vector<Reading> readings{
        {"item", [=](const torch::Tensor& x) { return if_true(x.sum().item<double>() > 0, x); }},
        {"a condition", [=](const torch::Tensor& x) { return if_true((x > 0).any().item<bool>(), x); }},
        {"is_nonzero", [=](const torch::Tensor& x) { return if_true((x.sum() > 0).is_nonzero(), x); }},
        {"equal", [=](const torch::Tensor& x) { return if_true(torch::equal(x, torch::tanh(x)), x); }},
        {"allclose", [=](const torch::Tensor& x) { return if_true(torch::allclose(x, torch::tanh(x)), x); }},
        {"nonzero", [=](const torch::Tensor& x) { return if_true((x > 0).nonzero().size(0) > 3, x); }},
        {"where with one argument", [=](const torch::Tensor& x) { return if_true(torch::where(x > 0).at(0).size(0) > 3, x); }},
        {"a mask as an index", [=](const torch::Tensor& x) { return x + x.index({x > 0}).sum(); }},
        {"masked_select", [=](const torch::Tensor& x) { return x + x.masked_select(x > 0).sum(); }},
        {"unique", [=](const torch::Tensor& x) { return x + static_cast<double>(std::get<0>(torch::_unique2(x)).size(0)); }},
        {"a copy to the CPU", [=](const torch::Tensor& x) { return if_true(x.detach().cpu().data_ptr<float>()[0] > 0, x); }},
        {"a copy into a tensor of the CPU",
         [=](const torch::Tensor& x) {
             torch::Tensor here = torch::zeros({1}, torch::kCPU);
             here.copy_(x.detach().sum().reshape({1}));
             return if_true(here.data_ptr<float>()[0] > 0, x);
         }},
        {"data_ptr", [=](const torch::Tensor& x) { return if_true(x.data_ptr<float>()[0] > 0, x); }},
        {"an accessor", [=](const torch::Tensor& x) { return if_true(x.accessor<float, 2>()[0][0] > 0, x); }},
        {"one_hot of as many classes as there are", [](const torch::Tensor& x) { return x + torch::one_hot(x.argmax(1)).sum(); }},
        {"a number of rows",
         [](const torch::Tensor& x) {
             return x + torch::zeros({(x > 0).sum().item<std::int64_t>() + 1, 16}).sum();
         }},
    };
    for (const Reading& each : readings) {
        CAPTURE(each.name);
        ChangedTrainer trainer = with_forward(each.read);
        CHECK_THROWS(predicted(trainer));
        const auto probed = [&] { static_cast<void>(measured(trainer)); };
        CHECK_NOTHROW(probed());  // the code itself is sound
    }
}

TEST_CASE("a dry run notices a read whose failure is caught, and one in building or in the loss") {
    ChangedTrainer catches = with_forward([](const torch::Tensor& x) {
        try {
            return x * x.sum().item<double>();
        } catch (const std::exception&) {
            return x;
        }
    });
    CHECK_THROWS_WITH(predicted(catches), Contains("reads numbers from tensors"));
    ChangedTrainer builds{
        [](ChangedPoints& task) { task.in_build = [] { static_cast<void>(torch::linspace(0, 1, 3)[1].item<double>()); }; }};
    CHECK_THROWS_WITH(predicted(builds), Contains("in its phase build"));
    ChangedTrainer loses{[](ChangedPoints& task) {
        task.in_loss = [](const torch::Tensor& outputs, const points::Batch&) { static_cast<void>(outputs.max().item<double>()); };
    }};
    CHECK_THROWS_WITH(predicted(loses), Contains("(item, in its phase forward)"));
}

TEST_CASE("a dry run notices a number that was drawn at random and read, and leaves those alone that are the same in every run") {
    const auto at_random = [](auto draw) {
        return with_forward([draw](const torch::Tensor& x) { return draw() > 0.5 ? x : torch::cat({x, x}, 1).slice(1, 0, 16); });
    };
    ChangedTrainer drops = at_random([] { return torch::rand({1}, torch::kCPU).item<double>(); });
    CHECK_THROWS_WITH(predicted(drops), Contains("reads numbers that it has drawn at random (in its phase forward)"));
    ChangedTrainer picks = at_random([] { return static_cast<double>(torch::randint(2, {1}, torch::kCPU).item<std::int64_t>()); });
    CHECK_THROWS_WITH(predicted(picks), Contains("drawn at random"));
    ChangedTrainer spread = at_random([] { return torch::linspace(0, 1, 5, torch::kCPU)[1].item<double>(); });
    CHECK(predicted(spread).need == Approx(measured(spread)).epsilon(1e-3));
    ChangedTrainer said = at_random([] {
        const hpo::libtorch::HarmlessReads of_noise;
        return torch::rand({1}, torch::kCPU).item<double>() + 1;
    });
    CHECK_NOTHROW(predicted(said));
}

TEST_CASE("what follows from shapes, and what the author says is harmless, keeps a dry run exact") {
    const std::vector<Reading> facts{
        {"equal of unlike shapes",
         [](const torch::Tensor& x) {
             return torch::equal(x, x.sum(0)) ? torch::cat({x, x}) : x;
         }},
        {"equal of one tensor",
         [](const torch::Tensor& x) {
             return torch::equal(x, x) ? x : torch::cat({x, x});
         }},
        {"one_hot of named classes", [](const torch::Tensor& x) { return x + torch::one_hot(x.argmax(1), 16).to(torch::kFloat); }},
        {"a check that is said to be one",
         [](const torch::Tensor& x) {
             const hpo::libtorch::HarmlessReads of_a_check;
             static_cast<void>((x == x).all().item<bool>());
             return x;
         }},
    };
    for (const Reading& each : facts) {
        CAPTURE(each.name);
        ChangedTrainer trainer = with_forward(each.read);
        const PeakPrediction prediction = predicted(trainer);
        CHECK(prediction.uncertainty == 0);
        CHECK(prediction.need == Approx(measured(trainer)).epsilon(1e-2));  // checks of LibTorch's own take a few bytes
    }
}

TEST_CASE("an evaluation may read its metrics, where its memory hangs on them, the probe is asked") {
    const auto accuracy = [](const torch::Tensor& logits) {
        const torch::Tensor answers = logits.argmax(1).cpu();
        double sum = 0;
        for (std::int64_t i = 0; i < answers.numel(); ++i) sum += static_cast<double>(answers.data_ptr<std::int64_t>()[i]);
        return sum / logits.norm().item<double>();
    };
    ChangedTrainer reads = with_evaluation(accuracy);
    ChangedTrainer plain = with_evaluation([](const torch::Tensor&) { return 0.5; });
    CHECK(predicted(reads).uncertainty == 0);
    CHECK(predicted(reads).need == predicted(plain).need);

    const auto message = Contains("the evaluation takes other memory where it reads other numbers");
    ChangedTrainer selects = with_evaluation([](const torch::Tensor& x) { return static_cast<double>(x.index({x > 0}).size(0)); });
    CHECK_THROWS_WITH(predicted(selects), message);
    ChangedTrainer decides = with_evaluation([](const torch::Tensor& x) {
        if (x.sum().item<double>() > 0.5) static_cast<void>(torch::cat({x, x}));
        return 0.5;
    });
    CHECK_THROWS_WITH(predicted(decides), message);
    ChangedTrainer loops = with_evaluation([](const torch::Tensor& x) { return settled(x).sum().item<double>(); });
    CHECK_THROWS_WITH(predicted(loops), Contains("reads numbers from tensors"));  // and ends, although 1 is never small enough
}
