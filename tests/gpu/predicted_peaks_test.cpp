// SPDX-License-Identifier: MIT
// Every family and lever on a GPU: what was predicted against LibTorch's own statistics, and its own history through the model of its
// allocator.
#include <torch/torch.h>

#include <c10/cuda/CUDACachingAllocator.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/own_process.hpp"
#include "bench/prediction_errors.hpp"
#include "gpu/free_memory.hpp"
#include "gpu/jobs.hpp"
#include "hpo/allocator/capacity_need.hpp"
#include "hpo/allocator/cuda_overheads.hpp"
#include "hpo/allocator/replay.hpp"
#include "hpo/base/error.hpp"
#include "hpo/guard/predicted_estimate.hpp"
#include "support/catch.hpp"
#include "torch/prediction/cuda_history.hpp"

namespace {

using hpo::allocator::LibTorchVersion;

constexpr double mib = 1 << 20;

/// Of one configuration. All but `probed` and `events` in bytes.
enum Figure {
    allocated,  ///< highest, as LibTorch counted it
    reserved,
    predicted_allocated,  ///< before it, by the dry run or, where that refuses, by the probe
    predicted_reserved,
    replayed_allocated,  ///< by the model of the allocator, from LibTorch's history
    replayed_reserved,
    outside,         ///< what the device lost beside what was reserved
    needed,          ///< least capacity at which the recorded history is served, without the context
    predicted_need,  ///< the same, as it was predicted before
    by_card_need,    ///< the same, as it was predicted on the virtual card; 0 where the GPU is real
    probed,          ///< 1: the probe predicted
    events,          ///< of the history
    figures
};

hpo::PeakPrediction predict(hpo::Trainer& trainer, const hpo::TrainerJob& job) {
    bench::Silence silence;
    try {
        return trainer.predict(job, hpo::PeakSource::dry_run, silence);
    } catch (const hpo::Error& error) {
        std::printf("(%s)\n", error.what());
        return trainer.predict(job, hpo::PeakSource::probe, silence);
    }
}

/// Predicts and trains; in a process of its own, which has not used the GPU.
std::vector<double> measure(hpo::Trainer& trainer, const hpo::TrainerJob& job, const gpu::FreeMemory& free_memory) {
    const LibTorchVersion version = hpo::allocator::parse_libtorch_version(TORCH_VERSION).value();
    std::vector<double> result(figures, 0);
    const std::int64_t free_before = free_memory.bytes();
    const hpo::PeakPrediction prediction = predict(trainer, job);
    if (free_memory.bytes() != free_before) throw std::runtime_error{"memory of the GPU was taken by a prediction"};
    result[predicted_allocated] = static_cast<double>(prediction.allocated_bytes);
    result[predicted_reserved] = static_cast<double>(prediction.reserved_bytes);
    result[probed] = prediction.source == hpo::PeakSource::probe ? 1 : 0;

    hpo::libtorch::CudaHistory history;
    bench::Silence silence;
    const hpo::AttemptOutcome outcome = trainer.run(job, silence);
    if (outcome.kind != hpo::OutcomeKind::complete)
        throw std::runtime_error{outcome.failure ? outcome.failure->message : "a training did not complete"};
    const auto now = c10::cuda::CUDACachingAllocator::getDeviceStats(0).reserved_bytes[0].current;
    result[outside] = static_cast<double>(free_before - free_memory.bytes() - now);
    result[allocated] = static_cast<double>(outcome.peak_allocated.value());
    result[reserved] = static_cast<double>(outcome.peak_reserved.value());

    const hpo::allocator::AllocationTrace trace = history.finish();
    const auto replayed = hpo::allocator::simulate(trace, {.version = version});
    result[replayed_allocated] = static_cast<double>(replayed.counts.allocated_peak);
    result[replayed_reserved] = static_cast<double>(replayed.counts.reserved_peak);
    result[events] = static_cast<double>(trace.events.size());
    const auto without_context = [](const hpo::PeakPrediction& each) {
        const auto part = std::ranges::find(each.parts, hpo::guard::context_part, &hpo::EstimatePart::name);
        return static_cast<double>(each.need - (part == each.parts.end() ? 0 : part->bytes));
    };
    result[needed] = static_cast<double>(hpo::allocator::capacity_need(trace, {.version = version}, 0).need);
    result[predicted_need] = without_context(prediction);
    if (gpu::card_is_virtual()) {
        const hpo::PeakPrediction first = trainer.predict(job, hpo::PeakSource::virtual_card, silence);
        if (trainer.predict(job, hpo::PeakSource::virtual_card, silence) != first)
            throw std::runtime_error{"a second prediction in one process differs"};
        result[by_card_need] = without_context(first);
    }
    return result;
}

/// Every configuration, predicted, trained and replayed once for all tests; nothing for one whose process failed.
struct Row {
    bench::Configuration configuration;
    std::optional<std::vector<double>> found;
};

const std::vector<Row>& table() {
    static const std::vector<Row> rows = [] {
        // cuBLAS's workspaces as on most cards: those of Hopper would weigh more than most models here.
        ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:2:16:8", 1);
        ::unsetenv("PYTORCH_CUDA_ALLOC_CONF");
        ::unsetenv("PYTORCH_ALLOC_CONF");
        const gpu::MadeUpData data;
        const gpu::FreeMemory free_memory;
        std::printf(
            "| model | configuration | allocated, MiB | predicted, %% | reserved, MiB | predicted, %% | replayed allocated, %% | replayed "
            "reserved, %% | events | outside, MiB |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
        std::vector<Row> result;
        for (const bench::Configuration& each : gpu::configurations()) {
            std::fflush(stdout);
            const auto found = bench::tried_in_own_process([&] {
                return bench::with_trainer(each.family,
                                           [&](hpo::Trainer& trainer) { return measure(trainer, data.job_of(each), free_memory); });
            });
            result.push_back({each, found});
            const char* const family = bench::family_names[static_cast<int>(each.family)];
            if (!found) {
                std::printf("| %s | %s | failed |\n", family, each.name.c_str());
                continue;
            }
            const auto& f = *found;
            const auto off = [&](Figure predicted, Figure measured) { return 100 * (f[predicted] / f[measured] - 1); };
            std::printf("| %s | %s%s | %.1f | %+.2f | %.0f | %+.2f | %+.3f | %+.3f | %.0f | %.0f |\n", family, each.name.c_str(),
                        f[probed] != 0 ? " (probe)" : "", f[allocated] / mib, off(predicted_allocated, allocated), f[reserved] / mib,
                        off(predicted_reserved, reserved), off(replayed_allocated, allocated), off(replayed_reserved, reserved), f[events],
                        f[outside] / mib);
        }
        std::fflush(stdout);
        return result;
    }();
    return rows;
}

/// How far the one is from the other, over all that was measured.
bench::PredictionErrors errors(Figure predicted, Figure measured) {
    bench::PredictionErrors errors;
    for (const Row& row : table()) {
        if (row.found) errors.add((*row.found)[predicted] / (*row.found)[measured] - 1);
    }
    REQUIRE_FALSE(errors.empty());
    return errors;
}

/// The share of rows in which the two are the same, in %.
double same(Figure one, Figure other) {
    int count = 0;
    for (const Row& row : table()) count += row.found && (*row.found)[one] == (*row.found)[other] ? 1 : 0;
    return 100.0 * count / static_cast<double>(table().size());
}

}  // namespace

TEST_CASE("every configuration is predicted and trained on the GPU") {
    for (const Row& row : table()) {
        CAPTURE(bench::family_names[static_cast<int>(row.configuration.family)], row.configuration.name);
        CHECK(row.found);
    }
}

TEST_CASE("predicted peaks on CUDA are within 5 % of LibTorch's statistics in the median") {
    const bench::PredictionErrors of_allocated = errors(predicted_allocated, allocated);
    const bench::PredictionErrors of_reserved = errors(predicted_reserved, reserved);
    std::printf(
        "error in %%, median / 90th percentile / largest | too low by more than 0.1 %%\nallocated: %s of %zu\nreserved: %s of %zu\n",
        of_allocated.text().c_str(), of_allocated.count(), of_reserved.text().c_str(), of_reserved.count());
    CHECK(of_allocated.quantile(0.5) <= 0.05);
    CHECK(of_reserved.quantile(0.5) <= 0.05);
    if (!gpu::card_is_virtual()) return;
    // A virtual card has no libraries with memory of their own, so more is known there.
    CHECK(of_allocated.quantile(0.5) <= 0.0005);
    CHECK(of_reserved.quantile(0.5) <= 0.0005);
    CHECK(of_allocated.quantile(0.9) <= 0.0005);
    CHECK(of_allocated.quantile(1) <= 0.015);
    CHECK(of_reserved.quantile(0.9) <= 0.005);
    CHECK(of_reserved.quantile(1) <= 0.045);
}

TEST_CASE("the least capacity at which a training ends is predicted") {
    const bench::PredictionErrors by_dry_run = errors(predicted_need, needed);
    std::printf("least capacity: %s of %zu, exact %.0f %%\n", by_dry_run.text().c_str(), by_dry_run.count(), same(predicted_need, needed));
    if (!gpu::card_is_virtual()) return;
    const bench::PredictionErrors by_card = errors(by_card_need, needed);
    std::printf("the same, predicted on a virtual card: %s of %zu, exact %.0f %%\n", by_card.text().c_str(), by_card.count(),
                same(by_card_need, needed));
    CHECK(by_dry_run.quantile(1) <= 0.045);
    CHECK(by_card.quantile(0.9) <= 0.0005);
    CHECK(by_card.quantile(1) <= 0.045);
}

TEST_CASE("a recorded history of a training replayed through the model reserves exactly what LibTorch reserved") {
    std::printf("replayed histories with the same reserved peak: %.1f %%, with the same allocated peak: %.1f %%\n",
                same(replayed_reserved, reserved), same(replayed_allocated, allocated));
    CHECK(same(replayed_reserved, reserved) >= 95);
}

TEST_CASE("the device loses no more beside what is reserved than a context is taken to be") {
    const auto usual = hpo::allocator::usual_cuda_overheads(hpo::allocator::parse_libtorch_version(TORCH_VERSION).value());
    double least = 1e18;
    double most = 0;
    for (const Row& row : table()) {
        if (!row.found) continue;
        least = std::min(least, (*row.found)[outside]);
        most = std::max(most, (*row.found)[outside]);
    }
    std::printf("outside the allocator: %.0f to %.0f MiB; taken to be %.0f MiB\n", least / mib, most / mib,
                static_cast<double>(usual.context_bytes) / mib);
    CHECK(most <= static_cast<double>(usual.context_bytes));
    CHECK(most >= static_cast<double>(usual.context_bytes) / 3);
}

TEST_CASE("cuBLAS takes the workspace that it is taken to take, or Hopper's") {
    const auto usual = hpo::allocator::usual_cuda_overheads(hpo::allocator::parse_libtorch_version(TORCH_VERSION).value());
    const auto found = bench::tried_in_own_process([] {
        ::unsetenv("CUBLAS_WORKSPACE_CONFIG");
        const auto count = [] { return c10::cuda::CUDACachingAllocator::getDeviceStats(0).requested_bytes[0].current; };
        const torch::Tensor matrix = torch::ones({64, 64}, torch::kCUDA);
        const auto before = count();
        const torch::Tensor product = matrix.mm(matrix);
        const auto own = static_cast<std::int64_t>(product.nbytes());
        return std::vector<double>{static_cast<double>(count() - before - own), product.sum().item<double>()};
    });
    REQUIRE(found);
    CHECK(found->at(1) == 64.0 * 64 * 64);
    const auto workspace = static_cast<std::int64_t>(found->at(0));
    std::printf("cuBLAS's workspace: %.3f MiB; taken to be %.3f MiB\n", static_cast<double>(workspace) / mib,
                static_cast<double>(usual.cublas_workspace_bytes) / mib);
    CHECK((workspace == usual.cublas_workspace_bytes || workspace == std::int64_t{32} << 20));
}

TEST_CASE("every family trains in fp16 on the GPU") {
    struct Expected {
        bench::Family family;
        double least;
        double most;
    };
    // On the CPU they come to 1, 1, 0.6 and 1 in fp32 and bf16; nobody adds what is marked within eight epochs, but 2/3 is soon reached.
    const std::vector<Expected> all{{bench::Family::mlp, 0.9, 1},
                                    {bench::Family::cnn, 0.9, 1},
                                    {bench::Family::resnet, 0.3, 1},
                                    {bench::Family::encoder, 0.8, 1},
                                    {bench::Family::lstm, 0, 0.8}};
    const gpu::MadeUpData data;
    for (const auto& [family, least, most] : all) {
        if (gpu::card_is_virtual() && family == bench::Family::lstm) continue;
        CAPTURE(bench::family_names[static_cast<int>(family)]);
        const auto found = bench::tried_in_own_process([&, which = family] {
            hpo::TrainerJob job = data.job_of({which, "", {gpu::fp16}});
            job.options["epochs"] = std::int64_t{8};
            job.params["optim.lr"] = 3e-3;
            bench::Silence silence;
            const auto outcome = bench::with_trainer(which, [&](hpo::Trainer& trainer) { return trainer.run(job, silence); });
            if (outcome.failure) throw std::runtime_error{outcome.failure->message};
            return outcome.values;
        });
        REQUIRE(found);
        CHECK(found->at(0) >= least);
        CHECK(found->at(0) <= most);
    }
}
