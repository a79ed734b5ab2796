// SPDX-License-Identifier: MIT
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>

#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"
#include "support/tiny_encoders.hpp"
#include "support/wording.hpp"
#include "tune/models/saved_model.hpp"

using namespace hpo::test;
using Catch::Contains;
using nlohmann::json;

namespace {

/// Each trial is better than the one before when `falling`; x is then 1000 - number.
const std::string script = R"(
local hpo = require "hpo"
local falling = hpo.option("falling", false, "each trial is better than the one before")
return hpo.study {
  name = "bowl", trainer = { "quadratic", a = 0, b = 0, steps = hpo.option("steps", 1, ""), sleep_ms = hpo.option("sleep_ms", 0, "") },
  objective = { metric = "value", direction = "minimize" },
  sampler = "random", pruner = "none", recovery = "fail", trials = 20, workers = 2,
  space = function(trial)
    local x = falling and 1000 - trial.number or false
    trial:float("x", -1000, 1000, { min = x, max = x })
  end,
}
)";

CommandResult tune(const Workshop& workshop, std::vector<std::string> words) {
    words.insert(words.begin(), tool("hpo-tune"));
    return run_command(workshop, words);
}
CommandResult run(const Workshop& workshop, const std::string& trials, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"run", "bowl.lua", "--progress", "none", "--trials", trials, "--save-best=best"};
    words.insert(words.end(), more.begin(), more.end());
    return tune(workshop, words);
}

std::vector<hpo::Trial> trials_of(const std::string& store) {
    hpo::store::Sqlite opened{store};
    std::vector<hpo::Trial> trials;
    opened.refresh(opened.open_study("bowl", std::vector{hpo::Direction::minimize}, hpo::Store::Open::resume).id, trials);
    return trials;
}
std::int64_t best_of(const std::string& store) {
    const auto trials = trials_of(store);
    const hpo::Trial* best = hpo::best_trial(trials, hpo::Direction::minimize);
    return best ? best->number : -1;
}

/// The trial whose model lies there; its point is the one that its manifest names.
std::int64_t whole_model(const std::filesystem::path& folder) {
    const auto manifest = hpo::tune::read_manifest(folder);
    hpo::tune::require_whole(folder, manifest);
    CHECK(read_file(folder / "point.txt") == hpo::number_text(std::get<double>(manifest.params.at("x"))) + " 0.0\n");
    return manifest.trial;
}

/// What lies beside the files of the test and of the store.
std::set<std::string> left_in(const Workshop& workshop) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator{workshop.path()}) {
        const std::string name = entry.path().filename().string();
        if (name != ".out" && name != ".error" && name != "bowl.lua" && name != "hpo.db" && name != "hpo.db-wal" && name != "hpo.db-shm")
            names.insert(name);
    }
    return names;
}

}  // namespace

TEST_CASE("the best trial's model is kept, through going on with the study, and measured again") {
    const Workshop workshop;
    workshop.write("bowl.lua", script);
    const auto first = run(workshop, "10");
    INFO(first.error);
    REQUIRE(first.status == 0);
    CHECK(whole_model(workshop.path("best")) == best_of(workshop.file("hpo.db")));
    CHECK_THAT(first.out, Contains("model: ") && Contains("hpo-tune evaluate "));
    for (const char* trials : {"20", "40"}) {
        CHECK(run(workshop, trials).status == 0);
        CHECK(whole_model(workshop.path("best")) == best_of(workshop.file("hpo.db")));
    }
    CHECK(left_in(workshop) == std::set<std::string>{"best"});
    const auto shown = run(workshop, "40", {"--json"});
    CHECK(json::parse(shown.out).at("model").at("trial") == best_of(workshop.file("hpo.db")));

    const auto measured = tune(workshop, {"evaluate", "best", "--json"});
    INFO(measured.error);
    CHECK(measured.status == 0);
    const json told = json::parse(measured.out);
    CHECK(told.at("same_data") == true);
    CHECK(told.at("value") == told.at("metrics_when_trained").at("value"));
    CHECK(told.at("metrics").at("value") == told.at("value"));
    CHECK(told.at("trial") == best_of(workshop.file("hpo.db")));
    const auto text = tune(workshop, {"evaluate", "best"});
    CHECK_THAT(text.out, Contains("data: the same that the model was trained and measured on (0.0 0.0)"));

    const auto elsewhere = tune(workshop, {"evaluate", "best", "--set", "b=3", "--json"});
    const json other = json::parse(elsewhere.out);
    CHECK(elsewhere.status == 0);
    CHECK(other.at("same_data") == false);
    CHECK(other.at("value").get<double>() == told.at("value").get<double>() + 9);
    const auto other_text = tune(workshop, {"evaluate", "best", "--set", "b=3"});
    CHECK_THAT(other_text.out,
               Contains("data: not the data that the model was trained and measured on: 0.0 3.0; the model's own is 0.0 0.0"));
}

TEST_CASE("without a folder of its own the best model is kept beside the store, a script may ask for it, too") {
    const Workshop workshop;
    workshop.write("bowl.lua", script);
    CHECK(tune(workshop, {"run", "--save-best", "bowl.lua", "--progress", "none", "--trials", "3"}).status == 0);
    CHECK(whole_model(workshop.path("hpo.db.best/study-1")) == best_of(workshop.file("hpo.db")));
    std::string asking = script;
    asking.replace(asking.find("trials = 20"), 11, "trials = 3, save_best = \"kept here\"");
    workshop.write("asking.lua", asking);
    CHECK(tune(workshop, {"run", "asking.lua", "--progress", "none", "--store", "other.db"}).status == 0);
    CHECK(whole_model(workshop.path("kept here")) == best_of(workshop.file("other.db")));
}

TEST_CASE("a script may ask that no model be kept, and the command line may ask for it all the same") {
    const Workshop workshop;
    std::string declining = script;
    declining.replace(declining.find("trials = 20"), 11, "trials = 2, save_best = false");
    workshop.write("bowl.lua", declining);
    const auto result = tune(workshop, {"run", "bowl.lua", "--progress", "none"});
    INFO(result.error);
    CHECK(result.status == 0);
    CHECK(result.out.find("model: ") == std::string::npos);
    CHECK(left_in(workshop).empty());
    CHECK(run(workshop, "4").status == 0);
    CHECK(left_in(workshop) == std::set<std::string>{"best"});
}

TEST_CASE("a trial for whose model no folder can be made counts all the same, and later ones keep theirs") {
    const Workshop workshop;
    workshop.write("bowl.lua", script);
    std::filesystem::create_directories(workshop.path(".best.pending/trial-0.json"));  // where the file beside it is to be
    const auto result = run(workshop, "1", {"--set", "falling=true"});
    INFO(result.error);
    CHECK(result.status == 3);
    CHECK_THAT(result.error, Contains("the model of the best trial is not kept: ") && Contains("trial-0.json: cannot be written"));
    CHECK_THAT(result.out, Contains("1 complete") && Contains("train it again: hpo-tune try"));
    CHECK(best_of(workshop.file("hpo.db")) == 0);
    CHECK_FALSE(std::filesystem::exists(workshop.path("best")));
    CHECK(run(workshop, "2", {"--set", "falling=true"}).status == 0);
    CHECK(whole_model(workshop.path("best")) == 1);
}

TEST_CASE("trying a stored trial takes the parameters that a rule gave it on the way") {
    const Workshop workshop;
    workshop.write("oom.lua", R"(
local hpo = require "hpo"
return hpo.study {
  name = "bowl", trainer = { "fault", fault = "oom_once_above", limit = 8 }, objective = { metric = "value", direction = "minimize" },
  sampler = "random", recovery = "fail", trials = 1,
  space = function(trial) trial:categorical("batch", { 8, 32 }) trial:float("x", 0, 1) end,
  on_oom = function() return hpo.retry { params = { batch = 8 }, reason = "a smaller batch" } end,
}
)");
    const std::vector<std::string> plugins{"--plugin-dir", HPO_BINARY_DIR "/tests/trainers"};
    const auto fault = [&](std::vector<std::string> words) {
        words.insert(words.end(), plugins.begin(), plugins.end());
        return tune(workshop, words);
    };
    const auto ran = fault({"run", "oom.lua", "--progress", "none", "--fix", "batch=32"});
    INFO(ran.error);
    REQUIRE(ran.status == 0);
    const auto trials = trials_of(workshop.file("hpo.db"));
    REQUIRE(trials.size() == 1);
    CHECK(trials[0].params.number("batch") == 32);
    REQUIRE(trials[0].attempts.size() == 2);
    for (const char* which : {"0", "best"}) {
        const auto tried = fault({"try", "oom.lua", "--trial", which, "--json"});
        INFO(tried.error);
        CHECK(tried.status == 0);
        CHECK(json::parse(tried.out).at("params").at("batch") == 8);
        CHECK(json::parse(tried.out).at("params").at("x") == trials[0].params.number("x"));
    }
    CHECK(fault({"try", "oom.lua", "--fix", "batch=32"}).status != 0);
}

TEST_CASE("a rule changes an option of the trainer that the study does not search, and the trial records it") {
    const Workshop workshop;
    workshop.write("oom.lua", R"(
local hpo = require "hpo"
return hpo.study {
  name = "bowl", trainer = { "fault", fault = "oom_once_above", limit = 8 }, objective = { metric = "value", direction = "minimize" },
  sampler = "random", recovery = "fail", trials = 1,
  space = function(trial) trial:categorical("batch", { 32 }) trial:float("x", 0, 1) end,
  on_oom = function(trial) return hpo.retry { params = { limit = 2 * (trial.params.limit or 8) }, reason = "a higher limit" } end,
}
)");
    const std::string plugins = HPO_BINARY_DIR "/tests/trainers";
    CHECK(tune(workshop, {"check", "oom.lua", "--plugin-dir", plugins}).status == 0);
    const auto ran = tune(workshop, {"run", "oom.lua", "--progress", "none", "--plugin-dir", plugins});
    INFO(ran.error);
    REQUIRE(ran.status == 0);
    const auto trials = trials_of(workshop.file("hpo.db"));
    REQUIRE(trials.size() == 1);
    CHECK(trials[0].state == hpo::TrialState::complete);
    CHECK_FALSE(trials[0].params.find("limit"));
    REQUIRE(trials[0].attempts.size() == 3);
    for (const std::size_t attempt : {1U, 2U}) {
        REQUIRE(trials[0].attempts[attempt].changed_params);
        CHECK(trials[0].attempts[attempt].changed_params->number("limit") == 8 << attempt);
        CHECK(trials[0].attempts[attempt].changed_params->number("x") == trials[0].params.number("x"));
    }
    const auto tried = tune(workshop, {"try", "oom.lua", "--trial", "0", "--json", "--plugin-dir", plugins});
    INFO(tried.error);
    CHECK(tried.status == 0);
    CHECK(json::parse(tried.out).at("params").at("limit") == 32);
}

#ifdef HPO_HAS_TEXT_CLASSIFIER
TEST_CASE("a DeBERTa that is named among published models is fine-tuned, kept, and measured again without them") {
    const Workshop workshop;
    hpo::tests::write_tiny_deberta(workshop.path("models/somebody/tiny-deberta"));
    std::string rows = "text\tlabel\n";
    for (int i = 0; i < 60; ++i)
        rows +=
            "the " + std::string{i % 3 == 0 ? "font" : "game"} + " tool " + std::to_string(i) + (i % 3 == 0 ? "\tfonts\n" : "\tgames\n");
    workshop.write("texts.tsv", rows);
    workshop.write("texts.lua", R"(
local hpo = require "hpo"
return hpo.study {
  name = "bowl",
  trainer = { "text_classifier", data = "texts.tsv", models = "models", ["tok.max_length"] = 10, epochs = 2, validation_share = 0.3 },
  objective = { metric = "accuracy", direction = "maximize" },
  sampler = "random", pruner = "none", trials = 1, save_best = "best", workers = 1,
  space = function(trial)
    trial:categorical("model.name", { "somebody/tiny-deberta" })
    trial:categorical("train.batch_size", { 4 })
    trial:categorical("train.grad_accum", { 2 })
  end,
}
)");
    const auto ran = tune(workshop, {"run", "texts.lua", "--progress", "none"});
    INFO(ran.error);
    REQUIRE(ran.status == 0);
    std::filesystem::remove_all(workshop.path("models"));
    const auto measured = tune(workshop, {"evaluate", "best", "--json"});
    INFO(measured.error);
    REQUIRE(measured.status == 0);
    const json told = json::parse(measured.out);
    CHECK(told.at("same_data") == true);
    CHECK(told.at("metrics") == told.at("metrics_when_trained"));
    const auto shown = tune(workshop, {"evaluate", "best"});
    CHECK_THAT(shown.out, Contains("measured on " + told.at("attributes").at("validation_examples").dump() + " examples\n"));
    for (const char* own : {"model=elsewhere", "model.hidden=64", "head.depth=2"}) {
        const auto refused = tune(workshop, {"evaluate", "best", "--set", own});
        CHECK(refused.status == 2);
        CHECK_THAT(refused.error,
                   Contains("--set " + std::string{own}.substr(0, std::string{own}.find('=')) + ": the saved model has its own"));
    }
    const auto tested = tune(workshop, {"evaluate", "best", "--set", "report_test=true", "--set", "test_share=0.3"});
    INFO(tested.error);
    CHECK_THAT(tested.out, Contains("test_accuracy") && Contains("test_macro_f1"));
}
#endif

TEST_CASE("a best trial of before models were kept is named, with the command that trains it again") {
    const Workshop workshop;
    workshop.write("bowl.lua", script);
    REQUIRE(tune(workshop, {"run", "bowl.lua", "--progress", "none", "--trials", "1", "--fix", "x=0"}).status == 0);
    const auto later = run(workshop, "3", {"--fix", "x=50"});
    INFO(later.error);
    CHECK(later.status == 0);
    CHECK_THAT(later.out,
               Contains("model: ") &&
                   Contains("the model of the best trial was not kept; train it again: hpo-tune try bowl.lua --trial 0 --save FOLDER"));
    CHECK(whole_model(workshop.path("best")) == 1);
    const auto again = tune(workshop, {"try", "bowl.lua", "--trial", "0", "--save", "again"});
    INFO(again.error);
    CHECK(again.status == 0);
    CHECK(whole_model(workshop.path("again")) == 0);
    CHECK(left_in(workshop) == std::set<std::string>{"again", "best"});
    const auto twice = tune(workshop, {"try", "bowl.lua", "--trial", "0", "--save", "again"});
    CHECK(twice.status == 2);
    CHECK_THAT(twice.error, Contains("exists already; expected a new folder"));
}

TEST_CASE("trials that fail, and a try that fails, leave no model") {
    const Workshop workshop;
    workshop.write("bowl.lua", script);
    const auto nothing = run(workshop, "4", {"--fix", "x=1000", "--set", "steps=1"});
    CHECK(nothing.status == 0);
    const auto failed = tune(workshop, {"try", "bowl.lua", "--fix", "x=5", "--set", "steps=0", "--save", "failed"});
    CHECK(failed.status != 0);
    CHECK(left_in(workshop) == std::set<std::string>{"best"});
}

TEST_CASE("several runs at once on one study keep exactly the best of the store") {
    const Workshop first, second, third;
    std::vector<std::pair<const Workshop*, pid_t>> running;
    for (const Workshop* const workshop : {&first, &second, &third}) {
        workshop->write("bowl.lua", script);
        running.emplace_back(
            workshop, start_command(*workshop, {tool("hpo-tune"), "run", "bowl.lua", "--progress", "none", "--trials", "60", "--set",
                                                "falling=true", "--store", first.file("hpo.db"), "--save-best=" + first.file("best")}));
    }
    for (const auto& [workshop, pid] : running) {
        const auto result = finish_command(*workshop, pid);
        INFO(result.error);
        CHECK(result.status == 0);
        CHECK_THAT(result.out, Contains("model: "));
    }
    CHECK(trials_of(first.file("hpo.db")).size() == 60);
    CHECK(whole_model(first.path("best")) == best_of(first.file("hpo.db")));
    CHECK(left_in(first) == std::set<std::string>{"best"});
}

TEST_CASE("a run that is killed at any moment leaves the best model whole, and the next goes on from there") {
    const Workshop workshop;
    workshop.write("bowl.lua", script);
    std::mt19937 random{7};  // NOLINT: the same moments each time
    int with_model = 0;
    for (int round = 0; round < 12; ++round) {
        const pid_t pid = start_command(workshop, {tool("hpo-tune"), "run", "bowl.lua", "--progress", "plain", "--trials", "100000",
                                                   "--set", "falling=true", "--save-best=best"});
        CHECK(has_said(workshop, ": complete"));
        std::this_thread::sleep_for(std::chrono::microseconds{std::uniform_int_distribution{0, 60'000}(random)});
        ::kill(pid, SIGKILL);
        (void)finish_command(workshop, pid);
        if (!std::filesystem::exists(workshop.path("best"))) continue;
        ++with_model;
        const std::int64_t kept = whole_model(workshop.path("best"));
        CHECK(kept <= best_of(workshop.file("hpo.db")));  // each trial is better than those before
    }
    CHECK(with_model >= 10);
    const auto last = run(workshop, "1", {"--set", "falling=true"});  // settles what the last one left
    INFO(last.error);
    CHECK(last.status == 0);
    CHECK(whole_model(workshop.path("best")) == best_of(workshop.file("hpo.db")));
    CHECK(left_in(workshop) == std::set<std::string>{"best"});
}

TEST_CASE("evaluate says what is wrong with a folder") {
    const Workshop workshop;
    workshop.write("bowl.lua", script);
    REQUIRE(run(workshop, "2").status == 0);
    const auto folder = workshop.path("best");
    const std::string manifest = read_file(folder / "manifest.json");
    const auto refused = [&](const std::string& words, int status = 2) {
        const auto result = tune(workshop, {"evaluate", "best"});
        CAPTURE(result.error, result.out);
        CHECK(result.status == status);
        CHECK_THAT(result.error, Contains(words));
        CHECK(std::count(result.error.begin(), result.error.end(), '\n') == 1);
    };
    const auto changed = [&](const std::string& from, const std::string& to) {
        std::string text = manifest;
        const auto at = text.find(from);
        REQUIRE(at != std::string::npos);
        write_file(folder / "manifest.json", text.replace(at, from.size(), to));
    };
    CHECK_THAT(tune(workshop, {"evaluate", "nowhere"}).error,
               Contains("nowhere: no such folder; expected a folder that hpo-tune run --save-best"));
    std::filesystem::rename(folder / "manifest.json", folder / "kept");
    refused("best: has no manifest.json; expected a folder");
    std::filesystem::rename(folder / "kept", folder / "manifest.json");
    for (const std::size_t length : {std::size_t{0}, std::size_t{1}, manifest.size() / 2, manifest.size() - 3}) {
        write_file(folder / "manifest.json", manifest.substr(0, length));
        refused("manifest.json: got '");
    }
    changed("\"trainer\": \"quadratic\"", "\"trainer\": \"quadrature\"");
    refused(did_you_mean("quadratic"), 6);
    changed("\"trainer\": \"quadratic\"", "\"trainer\": \"\"");
    refused("manifest.json: trainer: got nothing; expected the name of a trainer");
    changed("\"format\": 1", "\"format\": 99");
    refused("format: got 99; expected at most 1; a newer version");
    changed("\"point.txt\"", "\"../point.txt\"");
    refused("got '../point.txt'; expected paths inside the folder");
    changed("\"x\":", "\"z\":");
    refused("quadratic: unknown parameter 'z'", 1);
    write_file(folder / "manifest.json", manifest);
    const std::string point = read_file(folder / "point.txt");
    write_file(folder / "point.txt", point.substr(0, 3));
    refused("point.txt: got 3 bytes; expected");
    write_file(folder / "point.txt", std::string(point.size(), '1'));
    refused("point.txt: other bytes than those that were saved");
    std::filesystem::remove(folder / "point.txt");
    refused("point.txt: missing; the manifest names it");
    write_file(folder / "point.txt", point);
    CHECK(tune(workshop, {"evaluate", "best"}).status == 0);
    CHECK_THAT(tune(workshop, {"evaluate", "best", "--set", "data=x"}).error, Contains("--set: unknown option of the trainer 'data'"));
    CHECK_THAT(tune(workshop, {"evaluate", "best", "--plan", "micro_batch=2"}).error, Contains("no lever 'micro_batch'"));
}

TEST_CASE("models can be kept only of trainers that save them, and run and check say so") {
    const Workshop workshop;
    workshop.write("fault.lua", R"(
local hpo = require "hpo"
return hpo.study { name = "f", trainer = "fault", objective = { metric = "value", direction = "minimize" }, trials = 1,
  space = function(trial) trial:float("x", 0, 1) end }
)");
    for (const char* command : {"run", "check"}) {
        const auto result = tune(workshop, {command, "fault.lua", "--save-best", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers"});
        CHECK(result.status == 2);
        CHECK_THAT(result.error, Contains("--save-best: trainer fault saves no models"));
    }
}

TEST_CASE("a study's first plan comes from the script and the command line, and needs a trainer that has its levers") {
    const Workshop workshop;
    const auto write = [&](const std::string& plan) {
        workshop.write("plan.lua", R"(
local hpo = require "hpo"
return hpo.study { name = "bowl", trainer = { "fault", batch = 32 }, objective = { metric = "value", direction = "minimize" }, trials = 1,
  sampler = "random", plan = )" + plan +
                                       R"(, space = function(trial) trial:float("x", 0, 1) end }
)");
    };
    const auto fault = [&](std::vector<std::string> words) {
        words.insert(words.end(), {"--plugin-dir", HPO_BINARY_DIR "/tests/trainers"});
        return tune(workshop, words);
    };
    write("{ micro_batch = 8, expandable_segments = true }");
    CHECK(fault({"check", "plan.lua"}).status == 0);
    const auto ran = fault({"run", "plan.lua", "--progress", "none", "-v"});
    INFO(ran.error);
    CHECK(ran.status == 0);
    CHECK_THAT(ran.error, Contains("micro-batch 8, expandable segments"));
    CHECK(fault({"run", "plan.lua", "--progress", "none", "--trials", "2", "--plan", "micro_batch=4"}).status == 0);
    const auto trials = trials_of(workshop.file("hpo.db"));
    REQUIRE(trials.size() == 2);
    CHECK(trials[0].attempts.at(0).plan.micro_batch == 8);
    CHECK(trials[0].attempts.at(0).plan.expandable_segments);
    CHECK(trials[1].attempts.at(0).plan.micro_batch == 4);
    const auto tried = fault({"try", "plan.lua", "--plan", "micro_batch=2", "--json"});
    CHECK(json::parse(tried.out).at("plan").at("micro_batch") == 2);

    for (const char* command : {"run", "check", "try"}) {
        CAPTURE(command);
        write("{ precision = \"bf16\" }");
        const auto in_script = fault({command, "plan.lua"});
        CHECK(in_script.status == 2);
        CHECK_THAT(in_script.error, Contains("plan.lua: plan: trainer fault: the trainer has no lever 'precision'; known: micro_batch\n"));
        write("{ micro_batch = 2 }");
        const auto given = fault({command, "plan.lua", "--plan", "activation_checkpointing=true"});
        CHECK(given.status == 2);
        CHECK_THAT(given.error, Contains("--plan: trainer fault: the trainer has no lever 'activation_checkpointing'"));
        CHECK_THAT(fault({command, "plan.lua", "--plan", "micro=1"}).error,
                   Contains("--plan: unknown lever 'micro'; known: micro_batch, activation_checkpointing, precision"));
        CHECK_THAT(fault({command, "plan.lua", "--plan", "micro_batch=0"}).error,
                   Contains("--plan micro_batch: got '0'; " + whole_number_of_at_least(1)));
        CHECK_THAT(fault({command, "plan.lua", "--plan", "precision=fp8"}).error, Contains("got 'fp8'; expected one of fp32, bf16, fp16"));
        write("{ effective_batch = 2 }");
        CHECK_THAT(fault({command, "plan.lua"}).error, Contains("hpo.study: plan: unknown option 'effective_batch'"));
        write("{ micro_batch = 0 }");
        CHECK_THAT(fault({command, "plan.lua"}).error, Contains("hpo.study: plan: got micro_batch 0; expected at least 1"));
    }
    write("{ micro_batch = 2 }");
    CHECK_THAT(fault({"space", "plan.lua", "--plan", "cap_bytes=much"}).error, Contains("--plan cap_bytes: got 'much'; expected a size"));
}
