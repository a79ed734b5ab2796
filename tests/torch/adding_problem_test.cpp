// SPDX-License-Identifier: MIT
#include <cstdint>
#include <memory>
#include <string>

#include "examples/plugins/adding_problem/adding_problem.cpp"  // whole, so that what the page about plugins shows is compiled
#include "hpo/testing/saving_contract.hpp"
#include "hpo/testing/trainer_contract.hpp"
#include "points.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using adding_problem::AddingProblem;

namespace {

hpo::TrainerJob adding_job() {
    hpo::TrainerJob job;
    job.metric = "error";
    job.params = {{"model.width", std::int64_t{16}}, {"train.batch_size", std::int64_t{50}}, {"optim.lr", 0.02}};
    job.options = {{"epochs", std::int64_t{2}},           {"length", std::int64_t{8}},
                   {"train_examples", std::int64_t{220}}, {"validation_examples", std::int64_t{70}},
                   {"checkpoint_seconds", 0.0},           {"threads", std::int64_t{1}}};
    return job;
}

hpo::AttemptOutcome complete(const hpo::TrainerJob& job) {
    AddingProblem trainer;
    points::Recorder recorder;
    auto outcome = trainer.run(job, recorder);
    INFO((outcome.failure ? outcome.failure->message : ""));
    REQUIRE(outcome.kind == hpo::OutcomeKind::complete);
    return outcome;
}

}  // namespace

TEST_CASE("the example plugin learns to add what is marked") {
    hpo::TrainerJob job = adding_job();
    job.options["train_examples"] = std::int64_t{2000};
    job.options["epochs"] = std::int64_t{8};
    const double error_of_the_mean = 2.0 / 3;
    CHECK(complete(job).values.at(0) < error_of_the_mean / 10);
}

TEST_CASE("the contracts of trainers hold for the example plugin, with two layers and dropout, too") {
    for (const std::int64_t layers : {1, 2}) {
        CAPTURE(layers);
        hpo::TrainerJob job = adding_job();
        job.params["model.layers"] = layers;
        job.params["model.dropout"] = layers > 1 ? 0.2 : 0.0;
        const auto make = [] { return std::make_unique<AddingProblem>(); };
        const hpo::tests::TemporaryDirectory scratch;
        for (const auto& broken :
             {hpo::testing::trainer_contract_violations(make, job), hpo::testing::saving_contract_violations(make, job, scratch.path())}) {
            for (const auto& problem : broken) UNSCOPED_INFO(problem.where << ": " << problem.what);
            CHECK(broken.empty());
        }
    }
    AddingProblem trainer;
    hpo::TrainerJob wrong = adding_job();
    wrong.options["length"] = std::int64_t{1};
    CHECK(trainer.check(wrong).size() == 1);
}

TEST_CASE("the example plugin takes part in levers", "[bf16]") {
    const auto held_by = [](const std::string& name, const hpo::Value& value) {
        hpo::TrainerJob job = adding_job();
        job.params[name] = value;
        return complete(job).peak_allocated.value();
    };
    const std::int64_t whole = held_by("train.tuning", std::string{"full"});
    CHECK(held_by("train.tuning", std::string{"probe"}) < whole);
    CHECK(held_by("train.frozen_embeddings", true) < whole);
    CHECK(held_by("model.layers", std::int64_t{3}) > whole);
    CHECK(held_by("train.batch_size", std::int64_t{10}) < whole);
    hpo::TrainerJob job = adding_job();
    const double value = complete(job).values.at(0);
    job.plan.micro_batch = 7;
    CHECK(complete(job).values.at(0) == Approx(value).epsilon(1e-3));
    job.plan.precision = hpo::Precision::bf16;
    CHECK(complete(job).values.at(0) == Approx(value).epsilon(0.1));
}
