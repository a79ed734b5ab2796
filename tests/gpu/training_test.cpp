// SPDX-License-Identifier: MIT
// Trainings that only a GPU can run: in fp16, and on from a checkpoint. Each in a process of its own.
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/own_process.hpp"
#include "hpo/testing/trainer_contract.hpp"
#include "hpo/torch/autocast.hpp"
#include "hpo/torch/memory_reading.hpp"
#include "hpo/torch/training/loss_scale.hpp"
#include "hpo/worker/leak_watch.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "torch/points.hpp"

using points::Points;
using points::PointsTrainer;

namespace {

/// As TwoLayers, with its dropout.
struct Noisy final : hpo::libtorch::Model {
    Noisy() {
        first = register_module("first", hpo::libtorch::Linear{6, 16});
        second = register_module("second", hpo::libtorch::Linear{16, 3});
    }
    hpo::libtorch::Outputs forward(const hpo::libtorch::Batch& batch) override {
        return second(torch::dropout(torch::tanh(first(batch.inputs.at(0))), 0.3, is_training()));
    }
    hpo::libtorch::Linear first{nullptr};
    hpo::libtorch::Linear second{nullptr};
};

struct Trained {
    hpo::AttemptOutcome outcome;
    hpo::testing::RecordingProgress progress;
    std::vector<torch::Tensor> weights{};
    double accuracy = 0;
};

/// 40 epochs over the points on the GPU, with a checkpoint after each where the job has a folder for them.
Trained train(hpo::TrainerJob job, double loss_factor, std::size_t stop_after = 1000) {
    job.plan.device = "cuda:0";
    job.options["epochs"] = std::int64_t{40};
    job.options["checkpoint_seconds"] = 0.0;
    Trained result{{}, hpo::testing::RecordingProgress{stop_after}};
    PointsTrainer trainer;
    trainer.change = [&](Points& task) {
        task.loss_factor = loss_factor;
        task.make_model = [] { return std::make_shared<Noisy>(); };
        task.script.assign(100, 0.5);  // what the points' own evaluation, which is the CPU's, is asked instead of
        task.at_end = [&result, x = task.x, y = task.y](hpo::libtorch::Model& model) {
            for (const auto& parameter : model.parameters()) result.weights.push_back(parameter.detach().cpu().clone());
            const torch::Tensor answers = model.forward({{x.to(torch::kCUDA)}, y}).only().argmax(1).to(torch::kCPU);
            result.accuracy = answers.eq(y).to(torch::kDouble).mean().item<double>();
        };
    };
    result.outcome = trainer.run(job, result.progress);
    if (result.outcome.failure) throw std::runtime_error{result.outcome.failure->message};
    return result;
}

hpo::TrainerJob job_in(hpo::Precision precision) {
    hpo::TrainerJob job = points::job(25, 10);
    job.plan.precision = precision;
    return job;
}

/// The largest difference between numbers of the two.
double distance(const Trained& one, const Trained& other) {
    double most = one.weights.size() == other.weights.size() && !one.weights.empty() ? 0 : 1e9;
    for (std::size_t i = 0; most < 1e9 && i < one.weights.size(); ++i)
        most = std::max(most, (one.weights[i] - other.weights[i]).abs().max().item<double>());
    return most;
}

/// The norm of the gradients of one pass in fp16 over a loss times `factor`.
double gradients_in_fp16(double factor) {
    Points task;
    task.loss_factor = factor;
    Noisy model;
    model.to(torch::kCUDA);
    std::vector<std::int64_t> all(50);
    for (std::int64_t i = 0; i < 50; ++i) all[static_cast<std::size_t>(i)] = i;
    const hpo::libtorch::Batch batch = task.training_batch(all, torch::kCUDA);
    torch::Tensor loss;
    {
        const hpo::libtorch::Autocast autocast{torch::kCUDA, hpo::Precision::fp16};
        loss = task.loss_sum(model.forward(batch), batch);
    }
    loss.backward();
    return model.first->weight.grad().norm().item<double>();
}

}  // namespace

TEST_CASE("after an attempt nothing is held on the GPU, cuBLAS's workspaces neither") {
    const auto found = bench::tried_in_own_process([] {
        std::vector<double> held;
        for (int attempt = 0; attempt < 3; ++attempt) {
            static_cast<void>(train(job_in(hpo::Precision::fp32), 1));
            held.push_back(static_cast<double>(hpo::libtorch::read_memory(torch::Device{torch::kCUDA, 0}).allocated.value()));
        }
        return held;
    });
    REQUIRE(found);
    CHECK(*found == std::vector<double>(3, 0.0));
}

TEST_CASE("what an attempt leaves on the GPU is seen as a leak, and cuBLAS's workspaces are none") {
    const auto found = bench::tried_in_own_process([] {
        std::vector<torch::Tensor> kept;
        std::vector<double> leaks;
        hpo::worker::LeakWatch watch;
        for (const std::int64_t kilobytes : {0, 0, 512, 512, 512}) {
            PointsTrainer trainer;
            trainer.change = [&](Points& task) {
                task.script.assign(100, 0.5);
                task.at_end = [&](hpo::libtorch::Model&) {
                    if (kilobytes > 0)
                        kept.push_back(torch::empty({kilobytes << 10}, torch::TensorOptions{torch::kCUDA}.dtype(torch::kByte)));
                };
            };
            hpo::TrainerJob job = job_in(hpo::Precision::fp32);
            job.plan.device = "cuda:0";
            hpo::testing::RecordingProgress progress;
            watch.begin(job.plan.device);
            const hpo::AttemptOutcome outcome = trainer.run(job, progress);
            for (const hpo::MemoryMark& mark : progress.marks) watch.see(mark);
            for (const hpo::MemoryMark& mark : outcome.memory) watch.see(mark);
            const auto leak = watch.leak();
            leaks.push_back(leak ? static_cast<double>(leak->reading.allocated.value()) : 0);
        }
        return leaks;
    });
    REQUIRE(found);
    CHECK(*found == std::vector<double>{0, 0, 0, 0, 3 * 512 << 10});
}

TEST_CASE("without a scale fp16's gradients vanish or overflow, and with it the same losses are learned from") {
    constexpr double vanishing = 1e-9;
    constexpr double overflowing = 1e6;
    const auto found = bench::tried_in_own_process([] {
        return std::vector<double>{gradients_in_fp16(vanishing),
                                   gradients_in_fp16(vanishing * hpo::libtorch::LossScale{hpo::Precision::fp16}.factor()),
                                   std::isfinite(gradients_in_fp16(overflowing)) ? 1.0 : 0.0,
                                   train(job_in(hpo::Precision::fp32), 1).accuracy,
                                   train(job_in(hpo::Precision::bf16), 1).accuracy,
                                   train(job_in(hpo::Precision::fp16), 1).accuracy,
                                   train(job_in(hpo::Precision::fp16), overflowing).accuracy};
    });
    REQUIRE(found);
    CHECK(found->at(0) == 0);
    CHECK(found->at(1) > 0);
    CHECK(found->at(2) == 0);
    for (std::size_t training = 3; training < found->size(); ++training) {
        CAPTURE(training);
        CHECK(found->at(training) > 0.8);
    }
}

TEST_CASE("an attempt that goes on from a checkpoint on the GPU ends with the weights of one that was not interrupted") {
    struct Kind {
        std::string optimizer;
        hpo::Precision precision;
        double loss_factor;
    };
    const std::vector<Kind> kinds{{"adamw", hpo::Precision::fp32, 1},
                                  {"sgd", hpo::Precision::fp32, 1},
                                  {"adafactor", hpo::Precision::bf16, 1},
                                  {"adamw", hpo::Precision::fp16, 1},
                                  {"adamw", hpo::Precision::fp16, 1e6}};  // whose scale has been found before the checkpoint
    for (const auto& [optimizer, precision, loss_factor] : kinds) {
        CAPTURE(optimizer, to_text(precision), loss_factor);
        const auto found = bench::tried_in_own_process([&, kind = optimizer, is = precision, factor = loss_factor] {
            const hpo::tests::TemporaryDirectory place;
            hpo::TrainerJob job = job_in(is);
            job.params["optim.kind"] = kind;
            const Trained whole = train(job, factor);
            const Trained again = train(job, factor);
            job.checkpoint_folder = place.path().string();
            const Trained first = train(job, factor, 21);
            job.resume_step = first.progress.checkpoints.at(first.progress.checkpoints.size() - 1);
            const Trained rest = train(job, factor);
            return std::vector<double>{distance(whole, again), distance(whole, rest), static_cast<double>(*job.resume_step),
                                       static_cast<double>(rest.progress.reports.size())};
        });
        REQUIRE(found);
        CHECK(found->at(2) == 20);
        CHECK(found->at(3) == 20);
        CHECK(found->at(1) <= found->at(0) + 1e-6);  // no further from it than the same attempt once more
    }
}
