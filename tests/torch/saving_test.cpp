// SPDX-License-Identifier: MIT
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "hpo/testing/saving_contract.hpp"
#include "hpo/torch/load_weights.hpp"
#include "hpo/weights/weights.hpp"
#include "points.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/temporary_directory.hpp"
#include "torch/save_weights.hpp"
#include "torch/saved_model.hpp"

using namespace points;
using Catch::Contains;
using hpo::test::read_file;
using hpo::test::write_file;
using hpo::testing::RecordingProgress;

namespace {

/// A job of six epochs with these options, that keeps a checkpoint after each.
hpo::TrainerJob saving_job(const std::vector<std::pair<std::string, hpo::Value>>& options = {}) {
    hpo::TrainerJob result = job(20, 7);
    result.options["epochs"] = std::int64_t{6};
    result.options["checkpoint_seconds"] = 0.0;
    for (const auto& [name, value] : options) result.options[name] = value;
    return result;
}

struct Run {
    hpo::AttemptOutcome outcome;
    RecordingProgress progress;
    std::string weights;  ///< the bytes of the saved file
};

/// Runs the job with folders for checkpoints and for its model; stops it at the report `stop_after`.
Run run(hpo::TrainerJob job, const std::filesystem::path& folder, std::size_t stop_after = 1000) {
    for (const char* name : {"checkpoints", "model"}) std::filesystem::create_directories(folder / name);
    job.checkpoint_folder = (folder / "checkpoints").string();
    job.model_folder = (folder / "model").string();
    Run result{{}, RecordingProgress{stop_after}, {}};
    result.outcome = PointsTrainer{}.run(job, result.progress);
    result.weights = read_file(folder / "model" / weights_file);
    return result;
}

std::string text_of(const hpo::AttemptOutcome& outcome) { return outcome.failure ? outcome.failure->message : ""; }

}  // namespace

TEST_CASE("an attempt that goes on from a checkpoint ends with the bits of one that was not interrupted") {
    using hpo::Value;
    struct Kind {
        std::vector<std::pair<std::string, Value>> options;
        hpo::Precision precision = hpo::Precision::fp32;
    };
    const std::vector<Kind> kinds{
        {{{"optim.kind", std::string{"adamw"}}, {"optim.schedule", std::string{"cosine"}}, {"optim.warmup", 0.2}}},
        {{{"optim.kind", std::string{"sgd"}}, {"optim.nesterov", true}, {"optim.clip_norm", 1.0}}},
        {{{"optim.kind", std::string{"adafactor"}}, {"optim.layer_decay", 0.5}}},
        {{{"train.tuning", std::string{"lora"}}, {"lora.rank", std::int64_t{2}}, {"lora.dropout", 0.5}}},
        {{{"train.tuning", std::string{"probe"}}}},
        {{{"train.patience", std::int64_t{50}}}},
        {{{"optim.kind", std::string{"adamw"}}, {"optim.clip_norm", 1.0}}, hpo::Precision::bf16},
        {{{"train.tuning", std::string{"lora"}}, {"train.patience", std::int64_t{50}}}, hpo::Precision::bf16},
    };
    for (const auto& [options, precision] : kinds) {
        CAPTURE(options[0].first, hpo::display_text(options[0].second), to_text(precision));
        hpo::TrainerJob asked = saving_job(options);
        asked.plan.precision = precision;
        const hpo::tests::TemporaryDirectory home;
        const Run whole = run(asked, home.path("whole"));
        INFO(text_of(whole.outcome));
        REQUIRE(whole.outcome.kind == hpo::OutcomeKind::complete);
        REQUIRE_FALSE(whole.weights.empty());
        CHECK(whole.progress.checkpoints == std::vector<std::int64_t>{1, 2, 3, 4, 5});
        for (const std::size_t stop : {2, 4, 6}) {
            CAPTURE(stop);
            const auto folder = home.path("stopped after " + std::to_string(stop));
            const Run first = run(asked, folder, stop);
            CHECK(first.outcome.kind == hpo::OutcomeKind::stopped);
            CHECK(first.weights.empty());
            hpo::TrainerJob rest = asked;
            rest.resume_step = first.progress.checkpoints.back();
            const Run second = run(rest, folder);
            INFO(text_of(second.outcome));
            REQUIRE(second.outcome.kind == hpo::OutcomeKind::complete);
            CHECK(second.progress.reports.size() == 6 - static_cast<std::size_t>(*rest.resume_step));
            CHECK(second.outcome.values == whole.outcome.values);
            CHECK(second.outcome.attributes == whole.outcome.attributes);
            CHECK((second.weights == whole.weights));
            const std::filesystem::directory_iterator kept{folder / "checkpoints"};
            CHECK(std::distance(begin(kept), end(kept)) <= 2);
        }
    }
}

TEST_CASE("an out-of-memory while an attempt goes on from a checkpoint is told as one") {
    const hpo::tests::TemporaryDirectory home;
    const Run first = run(saving_job(), home.path("trial"), 4);
    hpo::TrainerJob rest = saving_job();
    rest.resume_step = first.progress.checkpoints.back();
    auto& meter = MeteredAllocator::instance();
    for (std::int64_t point = 1; point <= 80; ++point) {  // the model, what is read, and the first batches
        CAPTURE(point);
        meter.refuse_nth(point);
        const Run again = run(rest, home.path("trial"));
        meter.refuse_nth(0);
        REQUIRE(again.outcome.failure);
        CHECK(again.outcome.failure->kind == hpo::FailureKind::out_of_memory);
    }
    CHECK(run(rest, home.path("trial")).outcome.kind == hpo::OutcomeKind::complete);
}

TEST_CASE("a checkpoint or a model that cannot be written costs the trial nothing") {
    const hpo::tests::TemporaryDirectory home;
    hpo::TrainerJob job = saving_job();
    job.checkpoint_folder = home.file("missing/checkpoints");
    job.model_folder = home.file("model");
    std::filesystem::create_directories(home.path("model") / weights_file);  // a folder where the file is to be
    RecordingProgress progress;
    const auto outcome = PointsTrainer{}.run(job, progress);
    INFO(text_of(outcome));
    REQUIRE(outcome.kind == hpo::OutcomeKind::complete);
    CHECK(outcome.values == run(saving_job(), home.path("whole")).outcome.values);
    CHECK(progress.checkpoints.empty());
    CHECK(std::filesystem::is_empty(home.path("model")));
}

TEST_CASE("a file that is to hold the whole model must not hold more") {
    const hpo::tests::TemporaryDirectory home;
    const auto layer = [] { return torch::nn::Linear{2, 2}; };
    torch::nn::Sequential large{layer(), layer(), layer()};
    torch::nn::Sequential small{layer(), layer()};
    save_weights(*large, home.path("large.safetensors"));
    const auto stored = hpo::weights::Weights::open(home.path("large.safetensors"));
    CHECK_THROWS_WITH(load_whole(*small, stored), Contains("has tensor '2.bias', which the model lacks"));
    CHECK_THROWS_WITH(load_whole(*small, stored, "1"), Contains("has tensor '2.bias', which the model lacks"));
    load_whole(*large, stored);
    load_whole(*small, stored, "2");
    CHECK(torch::equal(small->parameters().at(0), large->parameters().at(0)));
}

TEST_CASE("an attempt with another micro-batch goes on from a checkpoint, too") {
    const hpo::tests::TemporaryDirectory home;
    const Run whole = run(saving_job(), home.path("whole"));
    const Run first = run(saving_job(), home.path("rest"), 4);
    hpo::TrainerJob rest = saving_job();
    rest.resume_step = first.progress.checkpoints.back();
    rest.plan.micro_batch = 3;
    const Run second = run(rest, home.path("rest"));
    REQUIRE(second.outcome.kind == hpo::OutcomeKind::complete);
    const auto expected = hpo::weights::Weights::open(home.path("whole/model"));
    PointsTrainer trainer;
    TwoLayers a;
    TwoLayers b;
    load_weights(a, expected);
    load_weights(b, hpo::weights::Weights::open(home.path("rest/model")));
    CHECK(torch::allclose(a.first->weight, b.first->weight, 1e-4, 1e-5));
}

TEST_CASE("the two latest checkpoints are kept, and none is half") {
    const hpo::tests::TemporaryDirectory home;
    const Run ran = run(saving_job(), home.path("run"));
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator{home.path("run/checkpoints")})
        names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    CHECK(names == std::vector<std::string>{"step-4", "step-5"});
}

TEST_CASE("checkpoints are no more often than they are asked for") {
    const hpo::tests::TemporaryDirectory home;
    CHECK(run(saving_job({{"checkpoint_seconds", 1000.0}}), home.path("run")).progress.checkpoints.empty());
}

TEST_CASE("early stopping goes on where it was: its best epoch, its patience, its weights") {
    const auto scripted = [](hpo::TrainerJob job, const std::filesystem::path& folder, std::vector<double> script, std::size_t stop_after) {
        for (const char* name : {"checkpoints", "model"}) std::filesystem::create_directories(folder / name);
        job.checkpoint_folder = (folder / "checkpoints").string();
        job.model_folder = (folder / "model").string();
        PointsTrainer trainer;
        trainer.change = [&](Points& task) { task.script = script; };
        Run result{{}, RecordingProgress{stop_after}, {}};
        result.outcome = trainer.run(job, result.progress);
        result.weights = read_file(folder / "model" / weights_file);
        return result;
    };
    const hpo::tests::TemporaryDirectory home;
    const hpo::TrainerJob patient = saving_job({{"epochs", std::int64_t{20}}, {"train.patience", std::int64_t{3}}});
    const Run whole = scripted(patient, home.path("whole"), {0.1, 0.9, 0.2, 0.3, 0.4}, 1000);
    REQUIRE(whole.outcome.values == std::vector{0.9});
    CHECK(whole.progress.reports.size() == 5);
    CHECK(whole.outcome.attributes.at("best_epoch") == "2");
    const Run first = scripted(patient, home.path("rest"), {0.1, 0.9, 0.2, 0.3}, 4);
    hpo::TrainerJob rest = patient;
    rest.resume_step = first.progress.checkpoints.back();
    CHECK(rest.resume_step == 3);
    const Run second = scripted(rest, home.path("rest"), {0.3, 0.4}, 1000);
    CHECK(second.progress.reports.size() == 2);
    CHECK(second.outcome.attributes == whole.outcome.attributes);
    CHECK((second.weights == whole.weights));
}

TEST_CASE("a checkpoint that is broken fails the attempt and is named") {
    const hpo::tests::TemporaryDirectory home;
    const Run first = run(saving_job(), home.path("run"), 4);
    hpo::TrainerJob rest = saving_job();
    rest.resume_step = 3;
    const auto folder = home.path("run/checkpoints/step-3");
    for (const char* name : {"training.pt", "counters.json"}) {
        CAPTURE(name);
        const std::string whole = read_file(folder / name);
        REQUIRE_FALSE(whole.empty());
        for (const std::size_t length : {std::size_t{0}, whole.size() / 2}) {
            write_file(folder / name, whole.substr(0, length));
            const Run second = run(rest, home.path("run"));
            CHECK(second.outcome.kind == hpo::OutcomeKind::failed);
            CHECK_THAT(text_of(second.outcome), Contains("checkpoints/step-3"));
            CHECK(second.progress.reports.empty());
        }
        write_file(folder / name, whole);
    }
    CHECK(run(rest, home.path("run")).outcome.kind == hpo::OutcomeKind::complete);
    rest.resume_step = 17;
    CHECK_THAT(text_of(run(rest, home.path("run")).outcome), Contains("step-17/counters.json: cannot be read"));
}

TEST_CASE("after an attempt that went on the device is as empty as before it") {
    const hpo::tests::TemporaryDirectory home;
    const Run first = run(saving_job({{"train.patience", std::int64_t{50}}}), home.path("run"), 4);
    const auto before = MeteredAllocator::instance().allocated_bytes();
    hpo::TrainerJob rest = saving_job({{"train.patience", std::int64_t{50}}});
    rest.resume_step = first.progress.checkpoints.back();
    CHECK(run(rest, home.path("run")).outcome.kind == hpo::OutcomeKind::complete);
    CHECK(MeteredAllocator::instance().allocated_bytes() == before);
}

TEST_CASE("the contract of saved models and checkpoints holds for a trainer over LibTorch, with low-rank additions, too") {
    for (const char* const tuning : {"full", "lora"}) {
        CAPTURE(tuning);
        const hpo::tests::TemporaryDirectory scratch;
        const auto broken = hpo::testing::saving_contract_violations([] { return std::make_unique<PointsTrainer>(); },
                                                                     saving_job({{"train.tuning", std::string{tuning}}}), scratch.path());
        for (const auto& problem : broken) UNSCOPED_INFO(problem.where << ": " << problem.what);
        CHECK(broken.empty());
    }
}

TEST_CASE("a saved model has the tensors of the task's model, and files of another model are refused") {
    const hpo::tests::TemporaryDirectory home;
    const Run ran = run(saving_job({{"train.tuning", std::string{"lora"}}}), home.path("run"));
    REQUIRE(ran.outcome.kind == hpo::OutcomeKind::complete);
    const auto weights = hpo::weights::Weights::open(home.path("run/model"));
    std::vector<std::string> names;
    for (const auto& [name, tensor] : weights.tensors()) names.push_back(name);
    CHECK(names == std::vector<std::string>{"first.bias", "first.weight", "second.bias", "second.weight"});
    hpo::TrainerJob measure = saving_job();
    measure.saved_model = home.path("run/model").string();
    Recorder recorder;
    const std::string file = (home.path("run/model") / weights_file).string();
    const std::string whole = read_file(file);
    write_file(file, whole.substr(0, whole.size() - 1));
    CHECK_THAT(text_of(PointsTrainer{}.evaluate(measure, recorder)), Contains(file));
    torch::nn::Linear other{2, 3};
    save_weights(*other, file);
    CHECK_THAT(text_of(PointsTrainer{}.evaluate(measure, recorder)), Contains(file) && Contains("first.weight"));
}
