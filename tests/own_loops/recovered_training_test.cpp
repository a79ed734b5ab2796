// SPDX-License-Identifier: MIT
#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "hpo/testing/saving_contract.hpp"
#include "hpo/torch/metered_allocator.hpp"
#include "points.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/temporary_directory.hpp"
#include "torch/saved_model.hpp"

using hpo::libtorch::MeteredAllocator;
using hpo::testing::RecordingProgress;

namespace {

/// Two layers with dropout between them: its training draws random numbers in every pass.
struct NoisyLayers final : hpo::libtorch::Model {
    NoisyLayers() {
        first = register_module("first", torch::nn::Linear{6, 16});
        dropout = register_module("dropout", torch::nn::Dropout{0.5});
        second = register_module("second", torch::nn::Linear{16, 3});
    }
    hpo::libtorch::Outputs forward(const hpo::libtorch::Batch& batch) override {
        return second(dropout(torch::tanh(first(batch.inputs.at(0)))));
    }
    torch::nn::Linear first{nullptr};
    torch::nn::Dropout dropout{nullptr};
    torch::nn::Linear second{nullptr};
};

points::PointsTrainer noisy_trainer() {
    points::PointsTrainer trainer;
    trainer.change = [](points::Points& task) { task.make_model = [] { return std::make_shared<NoisyLayers>(); }; };
    return trainer;
}

struct Attempt {
    hpo::AttemptOutcome outcome;
    RecordingProgress progress;
    std::string weights;  ///< the bytes of the saved model's file; empty if there is none
};

/// An attempt with folders for checkpoints and for its model. It stops at the report `stop_after`.
Attempt attempt(points::PointsTrainer& trainer, hpo::TrainerJob job, const std::filesystem::path& folder, std::size_t stop_after = 1000) {
    for (const char* name : {"checkpoints", "model"}) std::filesystem::create_directories(folder / name);
    job.options["checkpoint_seconds"] = 0.0;
    job.checkpoint_folder = (folder / "checkpoints").string();
    job.model_folder = (folder / "model").string();
    Attempt result{{}, RecordingProgress{stop_after}, {}};
    result.outcome = trainer.run(job, result.progress);
    const auto file = folder / "model" / hpo::libtorch::weights_file;
    if (std::filesystem::exists(file)) result.weights = hpo::test::read_file(file);
    return result;
}

hpo::TrainerJob with_micro_batch(std::int64_t micro) { return points::job(20, micro); }

/// The charged allocations of an attempt.
std::int64_t allocations_of(points::PointsTrainer& trainer, const hpo::TrainerJob& job, const std::filesystem::path& folder) {
    const std::int64_t before = MeteredAllocator::instance().allocations();
    static_cast<void>(attempt(trainer, job, folder));
    return MeteredAllocator::instance().allocations() - before;
}

}  // namespace

TEST_CASE("an attempt after an out-of-memory in any phase ends with the bits of a fresh one with its plan") {
    const hpo::tests::TemporaryDirectory home;
    points::PointsTrainer fresh = noisy_trainer();
    const Attempt expected = attempt(fresh, with_micro_batch(10), home.path("expected"));
    REQUIRE(expected.outcome.kind == hpo::OutcomeKind::complete);
    REQUIRE_FALSE(expected.weights.empty());
    CHECK(attempt(fresh, with_micro_batch(20), home.path("whole")).weights != expected.weights);  // the plan matters to the bits

    points::PointsTrainer trainer = noisy_trainer();
    const std::int64_t allocations = allocations_of(trainer, with_micro_batch(20), home.path("counted"));
    std::set<std::string> phases;
    const std::int64_t stride = std::max<std::int64_t>(1, allocations / 60) | 1;  // odd: falls on every kind of tensor
    for (std::int64_t point = 1; point <= allocations; point += stride) {
        CAPTURE(point, allocations);
        const auto folder = home.path("trial " + std::to_string(point));
        MeteredAllocator::instance().refuse_nth(point);
        const Attempt failed = attempt(trainer, with_micro_batch(20), folder / "first");
        MeteredAllocator::instance().refuse_nth(0);
        if (!failed.outcome.failure) continue;  // a checkpoint or a saved model that failed costs the trial nothing
        CHECK(failed.outcome.failure->kind == hpo::FailureKind::out_of_memory);
        phases.insert(failed.outcome.failure->where);
        const Attempt recovered = attempt(trainer, with_micro_batch(10), folder / "second");
        REQUIRE(recovered.outcome.kind == hpo::OutcomeKind::complete);
        CHECK((recovered.weights == expected.weights));
        CHECK(recovered.outcome.values == expected.outcome.values);
    }
    CHECK(phases.contains("forward"));
    CHECK(phases.contains("backward"));
}

TEST_CASE("an attempt that goes on after an out-of-memory ends with the bits of one that went on from the same checkpoint undisturbed") {
    const hpo::tests::TemporaryDirectory home;
    points::PointsTrainer fresh = noisy_trainer();
    points::PointsTrainer trainer = noisy_trainer();
    const std::int64_t allocations = allocations_of(trainer, with_micro_batch(20), home.path("counted"));
    std::set<std::string> phases;
    std::set<std::int64_t> from;
    const std::int64_t stride = std::max<std::int64_t>(1, allocations / 40) | 1;
    for (std::int64_t point = allocations / 4; point <= allocations; point += stride) {
        CAPTURE(point, allocations);
        const auto folder = home.path("trial " + std::to_string(point));
        MeteredAllocator::instance().refuse_nth(point);
        const Attempt failed = attempt(trainer, with_micro_batch(20), folder);
        MeteredAllocator::instance().refuse_nth(0);
        if (!failed.outcome.failure || failed.progress.checkpoints.empty()) continue;
        phases.insert(failed.outcome.failure->where);
        const std::int64_t checkpoint = failed.progress.checkpoints.back();
        from.insert(checkpoint);
        hpo::TrainerJob rest = with_micro_batch(10);
        rest.resume_step = checkpoint;
        const Attempt recovered = attempt(trainer, rest, folder);

        const auto other = home.path("undisturbed " + std::to_string(point));
        const Attempt stopped = attempt(fresh, with_micro_batch(20), other, static_cast<std::size_t>(checkpoint) + 1);
        REQUIRE(stopped.progress.checkpoints.back() == checkpoint);
        const Attempt undisturbed = attempt(fresh, rest, other);
        REQUIRE(undisturbed.outcome.kind == hpo::OutcomeKind::complete);
        REQUIRE(recovered.outcome.kind == hpo::OutcomeKind::complete);
        CHECK_FALSE(recovered.weights.empty());
        CHECK((recovered.weights == undisturbed.weights));
        CHECK(recovered.outcome.values == undisturbed.outcome.values);
    }
    CHECK(phases.contains("forward"));
    CHECK(phases.contains("backward"));
    CHECK(from.size() > 1);
}
