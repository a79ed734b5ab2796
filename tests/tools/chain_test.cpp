// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "hpo/store/snapshot.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"
#include "support/wording.hpp"

using namespace hpo::test;
using nlohmann::json;

namespace {

const std::string scripts = std::string{HPO_SOURCE_DIR} + "/scripts/lua/";

std::vector<hpo::Trial> stored_trials(const Workshop& workshop, const std::string& store = "hpo.db") {
    hpo::store::Snapshot snapshot{workshop.path(store).string()};
    return snapshot.trials(snapshot.studies().at(0));
}

[[maybe_unused]] bool ran_out_of_memory(const hpo::Attempt& attempt) {
    return attempt.failure && attempt.failure->kind == hpo::FailureKind::out_of_memory;
}

}  // namespace

TEST_CASE("the shipped quadratic script runs") {
    const Workshop workshop;
    const auto result = run_command(workshop, {tool("hpo-tune"), "run", scripts + "quadratic.lua", "--progress", "none"});
    INFO(result.error);
    CHECK(result.status == 0);
    CHECK_FALSE(stored_trials(workshop).empty());
}

#ifdef HPO_HAS_IMAGE_CLASSIFIER
TEST_CASE("data that are missing stop a study before it is stored, and the folder is named") {
    const Workshop workshop;
    const auto result =
        run_command(workshop, {tool("hpo-tune"), "run", scripts + "fashion_mnist.lua", "--set", "data=nowhere", "--progress", "none"});
    CHECK(result.status == 2);
    CHECK_THAT(result.error, Catch::StartsWith("hpo-tune: error: ") && Catch::Contains("nowhere"));
    CHECK(std::count(result.error.begin(), result.error.end(), '\n') == 1);
    CHECK_FALSE(std::filesystem::exists(workshop.path("hpo.db")));
}

TEST_CASE("check stays within the device's memory, and tells which proposals do not fit it") {
    const Workshop workshop;
    const auto check = [&](const std::string& widths) {
        workshop.write("wide.lua", R"(
local hpo = require "hpo"
return hpo.study {
  name = "wide", trainer = { "image_classifier", train_examples = 100, validation_examples = 100 }, device_memory = "40MiB",
  objective = { metric = "accuracy", direction = "maximize" },
  space = function(trial)
    trial:categorical("model.kind", { "mlp" })
    trial:categorical("model.width", { )" +
                                       widths + R"( })
  end,
}
)");
        return run_command(workshop, {tool("hpo-tune"), "check", "wide.lua"});
    };
    const auto some = check("16, 65536");
    INFO(some.error);
    CHECK(some.status == 0);
    CHECK_THAT(some.out, Catch::Contains(" of 20 proposals looked at: a model and two examples do not fit the memory: build: ") &&
                             Catch::Contains("Tried to allocate") && Catch::Contains("40.00 MiB"));
    const auto none = check("65536");
    CHECK(none.status == 2);
    CHECK_THAT(none.error, Catch::Contains(" of ") && Catch::Contains("do not fit the memory"));
}

TEST_CASE("labels beyond the classes are told once, whatever the model") {
    const Workshop workshop;
    workshop.write("labels.lua", R"(
local hpo = require "hpo"
return hpo.study {
  name = "labels", trainer = { "image_classifier", classes = 5, train_examples = 100, validation_examples = 100 },
  objective = { metric = "accuracy", direction = "maximize" },
  space = function(trial) trial:categorical("model.kind", { "mlp", "cnn", "resnet" }) end,
}
)");
    const auto result = run_command(workshop, {tool("hpo-tune"), "check", "labels.lua"});
    CHECK(result.status == 2);
    CHECK_THAT(result.error, Catch::Contains(" of batch 1 of the data (example ") && Catch::Contains("; expected 0 to 4") &&
                                 Catch::EndsWith("labels.lua: 1 problem\n"));
}

TEST_CASE("the formula guard measures models that do not fit the device, and refuses or shrinks them before launch") {
    const Workshop workshop;
    constexpr std::int64_t budget = 8 * 1024 * 1024;
    const auto run = run_command(workshop, {tool("hpo-tune"),
                                            "run",
                                            scripts + "fashion_mnist.lua",
                                            "--trials",
                                            "6",
                                            "--device-memory",
                                            "8MiB",
                                            "--workers",
                                            "1",
                                            "--guard",
                                            "formula",
                                            "--sampler",
                                            "random",
                                            "--set",
                                            "train_examples=256",
                                            "--set",
                                            "validation_examples=100",
                                            "--set",
                                            "epochs=1",
                                            "--progress",
                                            "plain"});
    INFO(run.error);
    CHECK(run.status == 0);
    int shrunk = 0;
    for (const hpo::Trial& trial : stored_trials(workshop)) {
        const hpo::Attempt& first = trial.attempts.at(0);
        REQUIRE(first.estimate);
        REQUIRE(first.estimate->need);
        CHECK(*first.estimate->need <= budget);
        shrunk += first.plan.effective_micro_batch() < first.plan.effective_batch ? 1 : 0;
    }
    CHECK(shrunk > 0);
    hpo::store::Snapshot snapshot{workshop.path("hpo.db").string()};
    const auto refused = snapshot.rejections(snapshot.studies().at(0));
    CHECK_FALSE(refused.empty());
    for (const hpo::Rejection& rejection : refused) {
        REQUIRE(rejection.estimate);
        CHECK(rejection.estimate->need > budget);
    }
}

TEST_CASE("real training runs out of real memory, comes back with the same effective batch, and the post-mortem explains it") {
    const Workshop workshop;
    const auto run = run_command(
        workshop, {tool("hpo-tune"), "run", scripts + "fashion_mnist.lua", "--trials", "10", "--device-memory", "48MiB", "--workers", "1",
                   "--set", "train_examples=512", "--set", "validation_examples=200", "--set", "epochs=1", "--progress", "plain"});
    INFO(run.error);
    REQUIRE(run.status == 0);

    int oom_attempts = 0;
    int recovered = 0;
    int later_starts = 0;
    for (const hpo::Trial& trial : stored_trials(workshop)) {
        REQUIRE(hpo::counts_as_done(trial));
        const auto batch = static_cast<std::int64_t>(*trial.params.number("train.batch_size"));
        std::int64_t micro = batch;
        for (const hpo::Attempt& attempt : trial.attempts) {
            CHECK(attempt.plan.effective_batch == batch);
            CHECK(attempt.plan.effective_micro_batch() <= micro);
            micro = attempt.plan.effective_micro_batch().value();
            CHECK(attempt.plan.accumulation_steps() == (batch + micro - 1) / micro);
            if (!ran_out_of_memory(attempt)) continue;
            ++oom_attempts;
            CHECK(attempt.failure->cause);
            CHECK(attempt.failure->requested_bytes > 0);
            CHECK(attempt.failure->memory.capacity == 48 * 1024 * 1024);
            CHECK_FALSE(attempt.failure->where.empty());
        }
        if (trial.state == hpo::TrialState::complete) {
            CHECK(trial.attempts.back().peak_allocated > 0);
            CHECK(trial.attempts.back().peak_allocated <= 48 * 1024 * 1024);
            CHECK(trial.constraints.at("memory") <= 0);
            CHECK(trial.user_attributes.contains("peak_memory_gb"));
            recovered += trial.attempts.size() > 1 ? 1 : 0;
        }
        // What an attempt held is given back before the next begins.
        for (std::size_t i = 1; i < trial.attempts.size(); ++i) {
            for (const hpo::MemoryMark& mark : trial.attempts[i].memory) {
                CHECK(mark.name != "leak");
                if (mark.name != "trial_start") continue;
                CHECK(mark.reading.allocated == 0);
                ++later_starts;
            }
        }
    }
    CHECK(oom_attempts > 0);
    CHECK(later_starts > 0);
    CHECK(recovered > 0);

    const auto oom = run_command(workshop, {tool("hpo-analyze"), "oom", "--store", "hpo.db", "--json"});
    INFO(oom.error);
    REQUIRE(oom.status == 0);
    const json report = json::parse(oom.out);
    CHECK(report["oom_attempts"] == oom_attempts);
    CHECK(report["recovered_trials"] >= recovered);
    CHECK(report["capacity_bytes"] == 48 * 1024 * 1024);
    CHECK(report["cases"].size() == static_cast<std::size_t>(oom_attempts));

    const auto best = run_command(
        workshop, {tool("hpo-tune"), "try", scripts + "fashion_mnist.lua", "--trial", "best", "--device-memory", "48MiB", "--set",
                   "train_examples=512", "--set", "validation_examples=200", "--set", "epochs=1", "--set", "report_test=true"});
    INFO(best.error);
    CHECK(best.status == 0);
    CHECK_THAT(best.out, Catch::Contains("test_accuracy"));
}
#endif

#ifdef HPO_HAS_IMAGE_CLASSIFIER
TEST_CASE("predictions are held against what was measured, also where nothing ran out of memory") {
    const Workshop workshop;
    workshop.write("small.lua", R"(
local hpo = require "hpo"
return hpo.study {
  name = "small", trainer = { "image_classifier", ["model.kind"] = "mlp", train_examples = 100, validation_examples = 50, epochs = 2 },
  objective = { metric = "accuracy", direction = "maximize" },
  sampler = "random", pruner = "none", guard = "dry_run", device_memory = "1GiB", trials = 1,
  space = function(trial) trial:categorical("train.batch_size", { 16 }) end,
}
)");
    REQUIRE(run_command(workshop, {tool("hpo-tune"), "run", "small.lua", "--progress", "none"}).status == 0);
    const auto told = run_command(workshop, {tool("hpo-analyze"), "oom", "--study", "small", "--store", "hpo.db"});
    CHECK_THAT(told.out,
               Catch::StartsWith("No out-of-memory in study small: none in 1 trial; highest peak ") &&
                   Catch::Contains("Predictions\n  1 attempt with prediction and measured peak. The reserved memory, including the "
                                   "guard's margin, was off by 0"));
}

TEST_CASE("the largest micro-batch is found where keeping gradients beside a pass needs more than one large pass") {
    const Workshop workshop;
    workshop.write("wide.lua", R"(
local hpo = require "hpo"
return hpo.study {
  name = "wide", trainer = { "image_classifier", ["model.kind"] = "mlp", ["model.depth"] = 1, ["optim.kind"] = "sgd", ["optim.momentum"] = 0,
                             train_examples = 100, validation_examples = 50 },
  objective = { metric = "accuracy", direction = "maximize" },
  space = function(trial) trial:int("model.width", 16384, 16384) trial:int("train.batch_size", 1, 64) end,
}
)");
    const auto largest = [&](const char* memory) {
        return json::parse(run_command(workshop, {tool("hpo-tune"), "estimate", "wide.lua", "--device", "cpu", "--device-memory", memory,
                                                  "--fix", "train.batch_size=15", "--json"})
                               .out)["largest_micro_batch"];
    };
    CHECK(largest("120MiB") >= 15);  // 49 MiB of weights and as many of gradients; 49 more with several passes
    CHECK(largest("80MiB").is_null());
}
#endif

#ifdef HPO_HAS_TEXT_CLASSIFIER
TEST_CASE("a check tells the balance of a text study's labels, and a study of texts runs out of memory and comes back") {
    const Workshop workshop;
    std::string rows = "text\tlabel\n";
    for (int i = 0; i < 120; ++i) {
        const char* const kind = i % 3 == 0 ? "font" : "game";
        rows += std::string{"package "} + std::to_string(i) + " is a small " + kind + " with a name\t" + kind + "s\n";
    }
    workshop.write("texts.tsv", rows);
    std::string script = R"(
local hpo = require "hpo"
return hpo.study {
  name = "texts",
  trainer = { "text_classifier", data = "texts.tsv", ["tok.max_length"] = 24, ["model.layers"] = 1, ["model.hidden"] = 64,
              ["model.vocabulary"] = 200, epochs = 2, report_test = true },
  objective = { metric = "macro_f1", direction = "maximize" },
  sampler = "random", pruner = "none", guard = "unlimited", recovery = "shrink_micro_batch",
  device_memory = "6MiB", trials = 2,
  space = function(trial)
    trial:categorical("train.batch_size", { 64 })
    trial:float("optim.lr", 1e-3, 1e-2, { log = true })
  end,
}
)";
    workshop.write("texts.lua", script);
    const auto checked = run_command(workshop, {tool("hpo-tune"), "check", "texts.lua"});
    INFO(checked.error);
    REQUIRE(checked.status == 0);
    CHECK_THAT(checked.out, Catch::StartsWith("training: ") && Catch::Contains(" texts of 2 classes; most 'games' ") &&
                                Catch::Contains("\nheld out: ") && Catch::Contains(no_problems));
    CHECK_THAT(checked.out, Catch::Contains("\nlooked at ") && Catch::Contains(" training examples: labels are in 0 to 1, ") &&
                                Catch::Contains(" held-out examples: ") && Catch::Contains("none is trained on") &&
                                Catch::Contains("guessing gives ln 2 = 0.693") &&
                                Catch::Contains("looked at one training step: it changes the weights"));
    CHECK(std::count(checked.out.begin(), checked.out.end(), '\n') == 8);
    const json answer = json::parse(run_command(workshop, {tool("hpo-tune"), "check", "texts.lua", "--json"}).out);
    REQUIRE(answer["remarks"].size() == 7);
    CHECK_THAT(checked.out, Catch::StartsWith(answer["remarks"][0].get<std::string>() + "\n"));

    const auto run = run_command(workshop, {tool("hpo-tune"), "run", "texts.lua", "--progress", "none"});
    INFO(run.error);
    REQUIRE(run.status == 0);
    const auto trials = stored_trials(workshop);
    REQUIRE(trials.size() == 2);
    for (const hpo::Trial& trial : trials) {
        REQUIRE(trial.state == hpo::TrialState::complete);
        CHECK(ran_out_of_memory(trial.attempts.at(0)));
        CHECK(trial.attempts.back().plan.effective_batch == 64);
        CHECK(trial.user_attributes.contains("test_macro_f1"));
    }

    // The same where the space does not ask for the batch: the trainer's own is what the plan has, and is shrunk.
    const std::string asks = "    trial:categorical(\"train.batch_size\", { 64 })\n";
    script.replace(script.find(asks), asks.size(), "");
    script.replace(script.find("name = \"texts\""), 14, "name = \"fixed\"");
    workshop.write("fixed.lua", script);
    const auto fixed = run_command(workshop, {tool("hpo-tune"), "run", "fixed.lua", "--progress", "none", "--store", "fixed.db"});
    INFO(fixed.error);
    REQUIRE(fixed.status == 0);
    for (const hpo::Trial& trial : stored_trials(workshop, "fixed.db")) {
        REQUIRE(trial.state == hpo::TrialState::complete);
        CHECK(ran_out_of_memory(trial.attempts.at(0)));
        CHECK(trial.attempts.back().plan.effective_batch == 64);
        CHECK(trial.attempts.back().plan.micro_batch.value_or(64) < 64);
    }
}
#endif
