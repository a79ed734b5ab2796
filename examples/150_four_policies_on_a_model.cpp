// SPDX-License-Identifier: MIT
// Four policies around a real model. A metered device of 12 MiB, in place of a GPU, refuses what does not fit. The first trial runs out of
// memory and is halved. From its peak the guard learns, and plans the later ones before they start.
#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "hpo/device/metered_device.hpp"
#include "hpo/hpo.hpp"
#include "hpo/process/temporary_folder.hpp"
#include "hpo/torch/metered_allocator.hpp"

constexpr std::int64_t capacity = 12 << 20;

/// Stops a training that has got worse than at its beginning.
struct StopDiverged {
    [[nodiscard]] hpo::Verdict judge(const hpo::PruneQuery& query) const {
        const auto& losses = query.trial.intermediate;
        if (losses.rbegin()->second <= losses.begin()->second) return {};
        return {hpo::Verdict::Answer::prune, "the loss grows"};
    }
};

/// Learns from measured peaks what an example takes for each unit of width. Before the first peak it estimates nothing.
struct LearnsPeaks {
    static double size(const hpo::ParamSet& params, const hpo::ExecutionPlan& plan) {
        return params.get<double>("width") * static_cast<double>(*plan.effective_micro_batch());
    }
    [[nodiscard]] hpo::Estimate estimate(const hpo::MemoryQuery& query) const {
        double bytes_each = 0;
        for (const hpo::Trial& trial : query.history.trials) {
            for (const hpo::Attempt& attempt : trial.attempts) {
                if (!attempt.peak_allocated) continue;
                bytes_each = std::max(bytes_each, static_cast<double>(*attempt.peak_allocated) / size(trial.params, attempt.plan));
            }
        }
        hpo::Estimate estimate{.source = "learned"};
        if (bytes_each > 0) estimate.need = static_cast<std::int64_t>(1.1 * bytes_each * size(query.params, query.plan));
        return estimate;
    }
    [[nodiscard]] hpo::Evidence evidence() const { return hpo::Evidence::none; }
};

int main() {
    auto& meter = hpo::libtorch::MeteredAllocator::instance();
    hpo::libtorch::MeteredAllocator::install();
    torch::set_num_threads(1);
    torch::manual_seed(1);
    const torch::Tensor x = torch::randn({512, 20}), y = x.sum(1, true);
    const hpo::TemporaryFolder folder{"metered-device"};
    const auto device = hpo::device::MeteredDevice::create(folder.path() / "account", capacity);
    meter.use_device(device.file());

    const auto train = [&](hpo::tuner::RunningJob& job) {
        const auto width = job.params().get<std::int64_t>("width");
        const std::int64_t batch = *job.plan().effective_batch, micro = *job.plan().effective_micro_batch();
        meter.reset_peak();
        torch::nn::Sequential model{torch::nn::Linear{20, width}, torch::nn::ReLU{}, torch::nn::Linear{width, 1}};
        torch::optim::SGD optimizer{model->parameters(), torch::optim::SGDOptions{job.params().get<double>("lr")}};
        double loss = 0;
        for (std::int64_t step = 0; step < 20; ++step) {
            optimizer.zero_grad();
            loss = 0;
            for (std::int64_t first = 0; first < batch; first += micro) {
                const std::int64_t end = std::min(batch, first + micro);
                const torch::Tensor part = (model->forward(x.slice(0, first, end)) - y.slice(0, first, end)).pow(2).sum() / batch;
                part.backward();
                loss += part.item<double>();
            }
            optimizer.step();
            if (step == 0) job.memory("first_step", meter.reading());
            if (!job.report(step, loss)) break;
        }
        return loss;
    };
    hpo::tuner::InProcess executor{train, {.capacity_bytes = capacity}};
    hpo::Tuner tuner{hpo::sampler::Qmc{}, StopDiverged{}, LearnsPeaks{}, hpo::recovery::ShrinkMicroBatch{}};
    const hpo::Space space = [](hpo::SpaceTrial& trial) {
        trial.suggest_int("width", 1000, 4000, {.step = 500});
        trial.suggest_categorical("batch", {std::int64_t{256}, std::int64_t{512}});
        trial.suggest_categorical("lr", {0.001, 10.0});
    };
    const auto study =
        tuner.optimize(hpo::store::InMemory{}, "model", space, executor, {.trials = 8, .effective_batch_parameter = "batch"});
    for (const hpo::Trial& trial : study.trials) {
        std::printf("trial %d, width %d, batch %d, lr %g:", static_cast<int>(trial.number), trial.params.get<int>("width"),
                    trial.params.get<int>("batch"), trial.params.get<double>("lr"));
        for (const hpo::Attempt& attempt : trial.attempts)
            std::printf(" micro-batch %d %s", static_cast<int>(*attempt.plan.effective_micro_batch()),
                        attempt.failure ? "out of memory," : to_text(trial.state).data());
        std::printf("\n");
    }
}
