// SPDX-License-Identifier: MIT
#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hpo/device/metered_device.hpp"
#include "points.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using hpo::PeakPrediction;
using hpo::PeakSource;
using hpo::TrainerJob;
namespace nn = torch::nn;

namespace {

nn::Conv2d convolution(std::int64_t from, std::int64_t to, std::int64_t kernel) {
    return nn::Conv2d{nn::Conv2dOptions(from, to, kernel).padding(kernel / 2)};
}

/// Down once and up again, with a bridge: a mask of one channel for images of one channel (after Ronneberger et al. 2015).
struct SmallUNet final : points::Model {
    explicit SmallUNet(std::int64_t width) {
        down = register_module("down", convolution(1, width, 3));
        bottom = register_module("bottom", convolution(width, 2 * width, 3));
        up = register_module("up", convolution(3 * width, width, 3));
        head = register_module("head", convolution(width, 1, 1));
    }
    hpo::libtorch::Outputs forward(const points::Batch& batch) override {
        const torch::Tensor& images = batch.inputs.at(0);
        const torch::Tensor wide = torch::relu(down(images));
        const torch::Tensor deep = torch::relu(bottom(torch::max_pool2d(wide, 2)));
        const torch::Tensor bridged = torch::cat({torch::upsample_nearest2d(deep, {images.size(2), images.size(3)}), wide}, 1);
        return head(torch::relu(up(bridged)));
    }
    nn::Conv2d down{nullptr}, bottom{nullptr}, up{nullptr}, head{nullptr};
};

/// Random images, and masks of where they are bright.
struct Masks final : points::Task {
    explicit Masks(std::int64_t width) : width_{width} {
        const hpo::libtorch::Unmetered data_set;
        torch::manual_seed(3);
        images_ = torch::rand({128, 1, 16, 16});
    }
    std::shared_ptr<points::Model> build() override { return std::make_shared<SmallUNet>(width_); }
    [[nodiscard]] std::int64_t training_examples() const override { return images_.size(0) - 32; }
    [[nodiscard]] points::Batch training_batch(std::span<const std::int64_t> examples, torch::Device device) const override {
        const auto chosen = torch::tensor(std::vector<std::int64_t>(examples.begin(), examples.end()), torch::kLong);
        const torch::Tensor images = images_.index_select(0, chosen);
        return {{images.to(device)}, images.gt(0.5).to(torch::kFloat).to(device)};
    }
    [[nodiscard]] torch::Tensor loss_sum(const hpo::libtorch::Outputs& outputs, const points::Batch& batch) const override {
        const auto summed = nn::functional::BinaryCrossEntropyWithLogitsFuncOptions{}.reduction(torch::kSum);
        return nn::functional::binary_cross_entropy_with_logits(outputs, batch.targets, summed);
    }
    [[nodiscard]] points::Metrics evaluate(points::Model& model, const points::EvaluationPlan& plan) const override {
        double loss = 0;
        for (std::int64_t start = training_examples(); start < images_.size(0); start += plan.batch_examples) {
            std::vector<std::int64_t> examples;
            for (std::int64_t i = start; i < std::min(start + plan.batch_examples, images_.size(0)); ++i) examples.push_back(i);
            const points::Batch batch = training_batch(examples, plan.device);
            loss += loss_sum(model.forward(batch), batch).item<double>();
        }
        return {{"loss", loss}};
    }

private:
    std::int64_t width_;
    torch::Tensor images_;
};

struct MaskTrainer final : points::TorchTrainer {
    hpo::TrainerInfo describe() const override {
        hpo::TrainerInfo info;
        info.name = "masks";
        info.parameters = {{.name = "width", .type = "int", .standard = hpo::Value{std::int64_t{4}}}};
        info.metrics = {{"loss", hpo::Direction::minimize, ""}};
        return info;
    }
    std::unique_ptr<points::Task> make_task(const hpo::Settings& settings, const TrainerJob&) override {
        return std::make_unique<Masks>(settings.whole("width"));
    }
};

struct Shape {
    std::int64_t width;
    std::int64_t batch;
    std::int64_t micro_batch;
    std::int64_t threads;
};

TrainerJob job_of(const Shape& shape) {
    TrainerJob job = points::job(shape.batch, shape.micro_batch);
    job.params["width"] = shape.width;
    job.options["epochs"] = std::int64_t{2};
    job.options["threads"] = shape.threads;
    job.metric = "loss";
    return job;
}

PeakPrediction probed(MaskTrainer& trainer, const TrainerJob& job) {
    points::Recorder nobody;
    return trainer.predict(job, PeakSource::probe, nobody);
}

std::int64_t measured(MaskTrainer& trainer, TrainerJob job) {
    const hpo::tests::TemporaryDirectory place;
    const auto device = hpo::device::MeteredDevice::create(place.path() / "device", std::int64_t{1} << 30);
    job.metered_device = (place.path() / "device").string();
    points::Recorder nobody;
    const auto outcome = trainer.run(job, nobody);
    CAPTURE(outcome.failure ? outcome.failure->message : "");
    REQUIRE(outcome.kind == hpo::OutcomeKind::complete);
    return outcome.peak_allocated.value();
}

}  // namespace

TEST_CASE("a probe knows the kernels that oneDNN takes for batches of the attempt's size, whatever its threads") {
    MaskTrainer trainer;
    for (const std::int64_t threads : {1, 2}) {
        for (const std::int64_t batch : {3, 9, 15, 16, 24, 48}) {
            const TrainerJob job = job_of({4, batch, batch, threads});
            const PeakPrediction prediction = probed(trainer, job);
            const auto need = static_cast<double>(prediction.need);
            const auto peak = static_cast<double>(measured(trainer, job));
            CAPTURE(threads, batch, need / peak - 1);
            CHECK(need >= 0.999 * peak);
            CHECK(need <= 1.05 * peak);
        }
    }
}

TEST_CASE("a probe puts an accumulated step and an evaluation in large batches on their own side of oneDNN's switch") {
    MaskTrainer trainer;
    struct Case {
        Shape shape;
        std::int64_t evaluated;
    };
    for (const Case& each : {Case{{4, 48, 8, 1}, 32}, Case{{4, 48, 12, 1}, 96}, Case{{4, 64, 32, 1}, 8}, Case{{6, 40, 16, 1}, 16}}) {
        TrainerJob job = job_of(each.shape);
        job.options["eval_batch"] = each.evaluated;
        const auto need = static_cast<double>(probed(trainer, job).need);
        const auto peak = static_cast<double>(measured(trainer, job));
        CAPTURE(each.shape.batch, each.shape.micro_batch, each.evaluated, need / peak - 1);
        CHECK(need >= 0.999 * peak);
        CHECK(need <= 1.1 * peak);  // a short micro-batch counts as whole
    }
}
