// SPDX-License-Identifier: MIT
#include <filesystem>
#include <string>
#include <vector>

#include "hpo/testing/saving_contract.hpp"
#include "points.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/temporary_directory.hpp"
#include "torch/saved_model.hpp"

using namespace points;

namespace {

/// 50 examples in three steps an epoch, and so many reports.
hpo::TrainerJob reporting_job(std::int64_t reports_per_epoch) {
    hpo::TrainerJob result = job(20, 20);
    result.options["reports_per_epoch"] = reports_per_epoch;
    return result;
}

std::vector<std::int64_t> steps_of(const Recorder& recorder) {
    std::vector<std::int64_t> steps;
    for (const hpo::Report& report : recorder.reports) steps.push_back(report.step);
    return steps;
}

}  // namespace

TEST_CASE("reports within an epoch change nothing of what is trained") {
    PointsTrainer trainer;
    Recorder once;
    const auto plain = trainer.run(reporting_job(1), once);
    for (const std::int64_t reports : {2, 3}) {
        CAPTURE(reports);
        Recorder recorder;
        const auto outcome = trainer.run(reporting_job(reports), recorder);
        REQUIRE(outcome.kind == hpo::OutcomeKind::complete);
        CHECK(outcome.values == plain.values);
        REQUIRE(recorder.reports.size() == static_cast<std::size_t>(4 * reports));
        for (std::size_t i = 0; i < recorder.reports.size(); ++i) CHECK(recorder.reports[i].step == static_cast<std::int64_t>(i) + 1);
        for (std::size_t epoch = 0; epoch < 4; ++epoch)
            CHECK(recorder.reports[(epoch + 1) * static_cast<std::size_t>(reports) - 1].value == once.reports[epoch].value);
    }
}

TEST_CASE("an epoch of fewer steps than reports tells those that a step came before, under the same step numbers") {
    PointsTrainer trainer;
    Recorder recorder;
    REQUIRE(trainer.run(reporting_job(4), recorder).kind == hpo::OutcomeKind::complete);
    CHECK(steps_of(recorder) == std::vector<std::int64_t>{2, 3, 4, 6, 7, 8, 10, 11, 12, 14, 15, 16});
    CHECK_THAT(recorder.lines.front(), Catch::StartsWith("epoch 0.5 of 4: training loss "));
    CHECK_THAT(recorder.lines[2], Catch::StartsWith("epoch 1 of 4: training loss "));
}

TEST_CASE("an attempt is pruned within an epoch") {
    PointsTrainer trainer;
    Recorder recorder;
    recorder.stop_after = 4;
    CHECK(trainer.run(reporting_job(3), recorder).kind == hpo::OutcomeKind::stopped);
    CHECK(steps_of(recorder) == std::vector<std::int64_t>{1, 2, 3, 4});
}

TEST_CASE("patience counts epochs, and the best report may lie within one") {
    PointsTrainer trainer;
    trainer.change = [](Points& task) { task.script = {0.1, 0.2, 0.9, 0.3, 0.3, 0.3, 0.3, 0.3}; };
    hpo::TrainerJob asked = reporting_job(2);
    asked.options["train.patience"] = std::int64_t{1};
    Recorder recorder;
    const auto outcome = trainer.run(asked, recorder);
    REQUIRE(outcome.kind == hpo::OutcomeKind::complete);
    CHECK(steps_of(recorder) == std::vector<std::int64_t>{1, 2, 3, 4, 5});
    CHECK(outcome.values == std::vector{0.9});
    CHECK(outcome.attributes.at("best_epoch") == "1.5");
}

TEST_CASE("an attempt goes on within an epoch from a checkpoint, with the bits of one that was not interrupted") {
    const auto run = [](hpo::TrainerJob asked, const std::filesystem::path& folder, std::size_t stop_after) {
        for (const char* name : {"checkpoints", "model"}) std::filesystem::create_directories(folder / name);
        asked.checkpoint_folder = (folder / "checkpoints").string();
        asked.model_folder = (folder / "model").string();
        asked.options["checkpoint_seconds"] = 0.0;
        hpo::testing::RecordingProgress progress{stop_after};
        static_cast<void>(PointsTrainer{}.run(asked, progress));
        return progress;
    };
    hpo::tests::TemporaryDirectory home;
    hpo::TrainerJob asked = reporting_job(3);
    CHECK(run(asked, home.path("whole"), 1000).checkpoints == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    const std::string weights = hpo::test::read_file(home.path("whole") / "model" / weights_file);
    REQUIRE_FALSE(weights.empty());
    for (const std::size_t stop : {3, 5, 9}) {
        CAPTURE(stop);
        const auto folder = home.path("stopped after " + std::to_string(stop));
        asked.resume_step = run(asked, folder, stop).checkpoints.back();
        CHECK(run(asked, folder, 1000).reports.size() == 12 - static_cast<std::size_t>(*asked.resume_step));
        CHECK((hpo::test::read_file(folder / "model" / weights_file) == weights));
        asked.resume_step.reset();
    }
}
