// SPDX-License-Identifier: MIT
#include "hpo/failure/source_attributes.hpp"

#include <string>

#include "hpo/failure/cause.hpp"
#include "hpo/failure/classify.hpp"
#include "support/catch.hpp"

namespace {

hpo::Trial bert_trial() {
    hpo::Trial trial;
    trial.state = hpo::TrialState::pruned;
    trial.params.set("model.name", hpo::CategoricalDistribution{{hpo::Value{std::string{"bert-large-uncased"}}}}, 0);
    trial.params.set("train.batch_size", hpo::IntDistribution{8, 256, false, 8}, 192);
    trial.params.set("tok.max_length", hpo::IntDistribution{128, 512, false, 32}, 480);
    return trial;
}

hpo::Attempt attempt_of(std::int64_t effective, std::int64_t micro) {
    hpo::Attempt attempt;
    attempt.plan.effective_batch = effective;
    attempt.plan.micro_batch = micro;
    attempt.peak_allocated = 24'857'000'000;
    return attempt;
}

}  // namespace

TEST_CASE("an out-of-memory is written under the names that readers know, typed as they expect") {
    const hpo::Trial trial = bert_trial();
    const hpo::Attempt attempt = attempt_of(192, 48);
    hpo::Failure failure = hpo::classify_text(
        {.type = "c10::OutOfMemoryError", .message = "CUDA out of memory. Tried to allocate 360.00 MiB.\nsecond \"line\""});
    failure.traceback = "in backward";
    const hpo::Attributes attributes = hpo::source_attributes(trial, &attempt, &failure);
    CHECK(attributes.at("oom") == "true");
    CHECK(attributes.at("oom_error") == "true");
    CHECK(
        attributes.at("oom_config") ==
        R"({"model": "bert-large-uncased", "batch_size": 48, "grad_accum": 4, "max_length": 480, "effective_batch_size": 192, "params": {"model.name": "bert-large-uncased", "train.batch_size": 192, "tok.max_length": 480}})");
    CHECK(attributes.at("error_message") == R"("CUDA out of memory. Tried to allocate 360.00 MiB.\nsecond \"line\"")");
    CHECK(attributes.at("error_traceback") == "\"in backward\"");
    CHECK(attributes.at("prune_reason") == "\"oom\"");
    CHECK(attributes.at("peak_memory_gb") == "24.857");
    CHECK_FALSE(attributes.contains("cuda_error"));
}

TEST_CASE("a trial that accumulates batches by a parameter of its own is written with what it asked for, and with what a plan made of it") {
    hpo::Trial trial = bert_trial();
    trial.params.set("train.batch_size", hpo::IntDistribution{8, 256, false, 8}, 48);
    trial.params.set("train.grad_accum", hpo::IntDistribution{1, 8, false, 1}, 4);
    const hpo::Failure failure = hpo::classify_text({.type = "c10::OutOfMemoryError", .message = "CUDA out of memory."});
    hpo::Attempt attempt = attempt_of(48, 48);
    const auto config = [&] { return hpo::source_attributes(trial, &attempt, &failure).at("oom_config"); };
    CHECK_THAT(config(), Catch::Contains(R"("batch_size": 48, "grad_accum": 4, )") && Catch::Contains(R"("effective_batch_size": 192, )"));
    attempt = attempt_of(48, 12);
    CHECK_THAT(config(), Catch::Contains(R"("batch_size": 12, "grad_accum": 16, )") && Catch::Contains(R"("effective_batch_size": 192, )"));
}

TEST_CASE("a CUDA error keeps its bare type and 500 characters, counted as characters") {
    const hpo::Trial trial = bert_trial();
    std::string message = "CUDA error: device-side assert triggered ";
    for (int i = 0; i < 600; ++i) message += "é";
    const hpo::Failure failure = hpo::classify_text({.type = "torch.AcceleratorError", .message = message});
    const hpo::Attributes attributes = hpo::source_attributes(trial, nullptr, &failure);
    CHECK(attributes.at("cuda_error") == "true");
    CHECK(attributes.at("cuda_error_type") == "\"AcceleratorError\"");
    CHECK(attributes.at("prune_reason") == "\"CUDA error (AcceleratorError)\"");
    CHECK(attributes.at("cuda_error_msg").size() == 2 + 41 + 2 * (500 - 41));
    CHECK_FALSE(attributes.contains("oom"));
    CHECK_FALSE(attributes.contains("peak_memory_gb"));
}

TEST_CASE("a success writes its measured peak, the parameters that a rule changed, and nothing else") {
    hpo::Trial trial = bert_trial();
    trial.state = hpo::TrialState::complete;
    hpo::Attempt attempt = attempt_of(192, 48);
    const hpo::Attributes attributes = hpo::source_attributes(trial, &attempt, nullptr);
    CHECK(attributes.size() == 1);
    attempt.changed_params.emplace();
    attempt.changed_params->set("lr", hpo::FloatDistribution{0, 1, false, {}}, 0.5);
    const hpo::Attributes changed = hpo::source_attributes(trial, &attempt, nullptr);
    CHECK(changed.size() == 2);
    CHECK(changed.at("changed_params") == R"({"lr": 0.5})");
    CHECK(hpo::source_attributes(trial, nullptr, nullptr).empty());
}

TEST_CASE("a failed trial has no prune reason, and unknown parts of the configuration are null") {
    hpo::Trial trial;
    trial.state = hpo::TrialState::fail;
    const hpo::Failure failure = hpo::classify_text({.type = "MemoryError", .message = "no more"});
    const hpo::Attributes attributes = hpo::source_attributes(trial, nullptr, &failure);
    CHECK(attributes.at("oom_config") ==
          R"({"model": null, "batch_size": null, "grad_accum": 1, "max_length": null, "effective_batch_size": null, "params": {}})");
    CHECK_FALSE(attributes.contains("prune_reason"));
}
