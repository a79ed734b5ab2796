// SPDX-License-Identifier: MIT
#include "hpo/testing/trainer_contract.hpp"

#include <fstream>

#include "hpo/testing/saving_contract.hpp"
#include "hpo/trainer/plugin_loader.hpp"
#include "hpo/trainer/settings.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

namespace {

using namespace hpo;

std::string broken(testing::TrainerContract::MakeTrainer make, TrainerJob job = {}) {
    std::string text;
    for (const auto& problem : testing::trainer_contract_violations(std::move(make), std::move(job))) {
        text += problem.where + ": " + problem.what + "\n";
    }
    return text;
}

/// Keeps the contract; each flaw breaks one promise of it.
class Flawed final : public Trainer {
public:
    explicit Flawed(std::string flaw = "") : flaw_{std::move(flaw)} {}
    [[nodiscard]] TrainerInfo info() const override {
        TrainerInfo info{.name = "flawed",
                         .summary = "for a test",
                         .parameters = {{"x", "float", "", 0.0, "h"}, {"kind", "one of a, b", "", std::string{"a"}, "h"}},
                         .metrics = {{"m", Direction::minimize, "h"}},
                         .levers = {"micro_batch"},
                         .effective_batch_parameter = "",
                         .libtorch_version = ""};
        if (flaw_ == "no_metric") info.metrics.clear();
        if (flaw_ == "type") info.parameters[0].type = "complex";
        if (flaw_ == "lever") info.levers = {"bigger_gpu"};
        if (flaw_ == "batch") info.effective_batch_parameter = "batch";
        if (flaw_ == "twice") info.parameters[1].name = "x";
        if (flaw_ == "range") info.parameters[0].range = "0 to 1";
        if (flaw_ == "standard") info.parameters[1].standard = std::string{"c"};
        if (flaw_ == "source") info.peak_sources = {"oracle"};
        if (flaw_ == "missing_source") info.peak_sources = {"dry_run"};
        if (flaw_ == "throwing_info") throw std::runtime_error{"no licence"};
        return info;
    }
    AttemptOutcome run(const TrainerJob& job, Progress& progress) override {
        if (flaw_ != "accepts_all") static_cast<void>(Settings{info(), job});
        ++runs_;
        if (flaw_ == "throwing_run") throw std::runtime_error{"no data"};
        if (flaw_ == "holds_memory") progress.memory({.name = "trial_start", .seconds = 0, .reading = {.allocated = runs_ * 2048}});
        for (int step = 0; step < 3; ++step) {
            if (progress.stop_requested() && flaw_ != "ignores_stop") return {.kind = OutcomeKind::stopped};
            const bool go_on = progress.report(flaw_ == "steps" ? -step : step, flaw_ == "random_reports" ? runs_
                                                                                : flaw_ == "nan_report"   ? std::nan("")
                                                                                                          : 1.0);
            if (!go_on && flaw_ != "ignores_stop") return {.kind = OutcomeKind::stopped};
        }
        double value = flaw_ == "random" ? runs_ : 1.0;
        if (flaw_ == "nan") value = std::nan("");
        AttemptOutcome outcome{.kind = OutcomeKind::complete, .values = {value}};
        if (flaw_ == "no_value") outcome.values.clear();
        if (flaw_ == "two_values") outcome.values.push_back(2);
        if (flaw_ == "stopped_anyway") outcome.kind = OutcomeKind::stopped;
        if (flaw_ == "attribute") outcome.attributes["data_hash"] = "sum 1";
        return outcome;
    }
    [[nodiscard]] std::optional<Profile> profile(const TrainerJob&) override {
        if (flaw_ == "throwing_profile") throw std::runtime_error{"no shape"};
        return Profile{.parameters = flaw_ == "profile" ? ++runs_ : 3, .trainable_parameters = flaw_ == "trainable" ? 4 : 0};
    }
    [[nodiscard]] std::vector<TrainerProblem> check(const TrainerJob& job) override {
        return flaw_ == "accepts_all" ? std::vector<TrainerProblem>{} : Settings::problems(info(), job);
    }

private:
    std::string flaw_;
    int runs_ = 0;
};

/// Saves a number and goes on from checkpoints; each flaw breaks one promise of it.
class Saver final : public Trainer {
public:
    explicit Saver(std::string flaw) : flaw_{std::move(flaw)} {}
    [[nodiscard]] TrainerInfo info() const override {
        TrainerInfo info;
        info.name = "saver";
        info.metrics = {{"m", Direction::minimize, "h"}};
        info.checkpoints = flaw_ != "neither";
        info.saves_models = flaw_ != "neither";
        return info;
    }
    AttemptOutcome run(const TrainerJob& job, Progress& progress) override {
        double sum = 0;
        std::int64_t step = 0;
        if (job.resume_step && flaw_ != "begins_anew") {
            std::ifstream in{job.checkpoint_folder + "/sum"};
            if (!(in >> step >> sum) && flaw_ != "resumes_from_nothing") throw Error{Errc::bad_value, "no checkpoint"};
            if (flaw_ == "forgets") sum = 0;
        }
        if (!job.model_folder.empty() && flaw_ == "saves_early") std::ofstream{job.model_folder + "/sum"} << 0.0;
        while (step < 4) {
            sum += static_cast<double>(++step) / 8;
            if (!progress.report(step, sum)) return {.kind = OutcomeKind::stopped};
            if (job.checkpoint_folder.empty() || flaw_ == "no_checkpoints") continue;
            std::ofstream{job.checkpoint_folder + "/sum"} << step << " " << sum;
            progress.checkpointed(step);
        }
        if (!job.model_folder.empty() && flaw_ != "saves_nothing") std::ofstream{job.model_folder + "/sum"} << sum;
        if (!job.model_folder.empty() && flaw_ == "saving_matters") sum += 1;
        return {.kind = OutcomeKind::complete, .values = {sum}, .attributes = {{"data_hash", "\"d\""}}};
    }
    AttemptOutcome evaluate(const TrainerJob& job, Progress& progress) override {
        if (flaw_ == "neither") return Trainer::evaluate(job, progress);
        double sum = 0;
        if (!(std::ifstream{job.saved_model + "/sum"} >> sum) && flaw_ != "measures_nothing")
            throw Error{Errc::bad_value, flaw_ == "nameless" ? "no" : job.saved_model + "/sum: no number"};
        if (flaw_ == "other_value") sum += 1;
        return {.kind = OutcomeKind::complete, .values = {sum}, .attributes = {{"data_hash", flaw_ == "other_data" ? "\"e\"" : "\"d\""}}};
    }
    [[nodiscard]] std::optional<Profile> profile(const TrainerJob&) override { return std::nullopt; }
    [[nodiscard]] std::vector<TrainerProblem> check(const TrainerJob&) override { return {}; }

private:
    std::string flaw_;
};

}  // namespace

TEST_CASE("the trainer contract holds for a plugin") {
    TrainerJob job;
    job.params["steps"] = std::int64_t{4};
    job.seed = 3;
    CHECK(broken([] { return load_trainer("fault", {HPO_BINARY_DIR "/tests/trainers"}); }, job) == "");
}

TEST_CASE("the trainer contract notices each flaw") {
    const auto with_flaw = [](const char* flaw) { return broken([flaw] { return std::make_unique<Flawed>(flaw); }); };
    CHECK(with_flaw("none") == "");
    CHECK(with_flaw("holds_memory") == "memory: 2.00 KiB of the device are still allocated after an attempt; expected none\n");
    CHECK(with_flaw("nan_report") == "report: the value of step 0 is NaN\n");
    CHECK(with_flaw("throwing_run") == "run: the job does not complete: no data\n");  // and nothing that only follows from it
    CHECK_THAT(with_flaw("no_metric"), Catch::Contains("no metric"));
    CHECK_THAT(with_flaw("type"), Catch::Contains("unknown type 'complex'"));
    CHECK_THAT(with_flaw("lever"), Catch::Contains("info: unknown lever 'bigger_gpu'"));
    CHECK_THAT(with_flaw("batch"), Catch::Contains("the effective batch parameter 'batch'"));
    CHECK_THAT(with_flaw("twice"), Catch::Contains("parameter 'x' is described twice"));
    CHECK_THAT(with_flaw("range"), Catch::Contains("info: parameter 'x': range '0 to 1' cannot be read"));
    CHECK_THAT(with_flaw("standard"), Catch::Contains("info: parameter 'kind': its standard value is 'c'; expected one of a, b"));
    CHECK_THAT(with_flaw("source"), Catch::Contains("info: unknown source of predictions 'oracle'"));
    CHECK(with_flaw("missing_source") == "predict: info() names the source dry_run, which is not implemented\n");
    CHECK(with_flaw("attribute") == "attributes: 'data_hash' is no JSON and would not be kept: sum 1\n");
    CHECK_THAT(with_flaw("throwing_profile"), Catch::Contains("profile: it throws: no shape"));
    CHECK_THAT(with_flaw("throwing_info"), Catch::Contains("info: it throws: no licence"));
    CHECK_THAT(with_flaw("accepts_all"), Catch::Contains("unknown parameter: run accepts no_such_parameter") &&
                                             Catch::Contains("wrong type: check does not name kind"));
    CHECK_THAT(with_flaw("steps"), Catch::Contains("steps do not increase"));
    CHECK_THAT(with_flaw("random"), Catch::Contains("other values with the same seed"));
    CHECK_THAT(with_flaw("random_reports"), Catch::Contains("reports otherwise with the same seed"));
    CHECK_THAT(with_flaw("nan"), Catch::Contains("run: expected one finite number, got NaN"));
    CHECK_THAT(with_flaw("no_value"), Catch::Contains("run: expected one finite number, got no value"));
    CHECK_THAT(with_flaw("two_values"), Catch::Contains("run: expected one finite number, got 1, 2"));
    CHECK_THAT(with_flaw("stopped_anyway"), Catch::Contains("run: it returns `stopped` though nobody asked it to stop"));
    CHECK_THAT(with_flaw("ignores_stop"), Catch::Contains("does not end the run as stopped") && Catch::Contains("before the start"));
    CHECK_THAT(with_flaw("profile"), Catch::Contains("profile: asked twice"));
    CHECK_THAT(with_flaw("trainable"), Catch::Contains("more trainable parameters"));
}

TEST_CASE("the contract of saved models and checkpoints holds for a plugin, and notices each flaw") {
    const auto broken_with = [](testing::TrainerContract::MakeTrainer make, const TrainerJob& job) {
        const tests::TemporaryDirectory scratch;
        std::string text;
        for (const auto& problem : testing::saving_contract_violations(std::move(make), job, scratch.path()))
            text += problem.where + ": " + problem.what + "\n";
        return text;
    };
    TrainerJob job;
    job.params["steps"] = std::int64_t{4};
    CHECK(broken_with([] { return load_trainer("fault", {HPO_BINARY_DIR "/tests/trainers"}); }, job) == "");
    const auto with_flaw = [&](const char* flaw) { return broken_with([flaw] { return std::make_unique<Saver>(flaw); }, {}); };
    CHECK(with_flaw("none") == "");
    CHECK(with_flaw("neither") == "");
    CHECK_THAT(with_flaw("measures_nothing"), Catch::Contains("evaluate: a folder without a model is measured"));
    CHECK_THAT(with_flaw("nameless"), Catch::Contains("does not name it"));
    CHECK_THAT(with_flaw("saves_nothing"), Catch::Contains("a run leaves it empty"));
    CHECK_THAT(with_flaw("saves_early"), Catch::Contains("a run that was stopped writes into it"));
    CHECK_THAT(with_flaw("saving_matters"), Catch::Contains("a run that saves its model ends otherwise: 2.25; expected 1.25"));
    CHECK_THAT(with_flaw("other_value"), Catch::Contains("the value is not that of the run"));
    CHECK_THAT(with_flaw("other_data"), Catch::Contains("data_hash is not that of the run"));
    CHECK_THAT(with_flaw("no_checkpoints"), Catch::Contains("tells of none before its last report"));
    CHECK_THAT(with_flaw("forgets"), Catch::Contains("a run that goes on ends otherwise: 0.5; expected 1.25"));
    CHECK_THAT(with_flaw("begins_anew"), Catch::Contains("reports otherwise than one that was not stopped"));
    CHECK_THAT(with_flaw("resumes_from_nothing"), Catch::Contains("goes on from a checkpoint that is not there"));
}
