// SPDX-License-Identifier: MIT
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "hpo/store/snapshot.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"
#include "support/wording.hpp"
#include "tools/slow_bowl.hpp"

using namespace hpo::test;
using Catch::Contains;
using nlohmann::json;

namespace {

/// 1 MiB has 576 bytes beside 1048000 bytes of weights: 57 examples of 10 bytes.
const std::string script = R"(
local hpo = require "hpo"
return hpo.study {
  name = "estimated",
  trainer = { "fault", fault = hpo.option("fault", "none", "what goes wrong") },
  objective = { metric = "value", direction = "minimize" },
  guard = "dry_run", sampler = "random", pruner = "none", trials = 6,
  space = function(trial)
    local weights = trial:categorical("weights", { 100, 1048000, 2000000 })
    if weights < 2000000 then trial:categorical("batch", { 8, 64 }) else trial:categorical("batch", { 8, 64 }, { only = { 8 } }) end
    trial:float("seconds", 0, 0.001)
  end,
}
)";

std::vector<std::string> tune_command(std::vector<std::string> words) {
    words.insert(words.begin(), tool("hpo-tune"));
    for (const char* word : {"--plugin-dir", HPO_BINARY_DIR "/tests/trainers"}) words.emplace_back(word);
    return words;
}
CommandResult tune(const Workshop& workshop, std::vector<std::string> words) {
    return run_command(workshop, tune_command(std::move(words)));
}
/// The same as somebody whom permissions bind, as they do not bind root.
CommandResult bound_tune(const Workshop& workshop, std::vector<std::string> words) {
    words = tune_command(std::move(words));
    if (geteuid() == 0) {
        const auto as_bound = {"/usr/bin/setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"};
        words.insert(words.begin(), as_bound.begin(), as_bound.end());
    }
    return run_command(workshop, words);
}

json estimate(const Workshop& workshop, std::vector<std::string> words) {
    words.insert(words.begin(), {"estimate", "s.lua", "--json"});
    const auto result = tune(workshop, words);
    INFO(result.error);
    REQUIRE(result.status == 0);
    return json::parse(result.out);
}

}  // namespace

TEST_CASE("estimate predicts a configuration by part, and the largest micro-batch that fits") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    const json one = estimate(workshop, {"--device-memory", "1MiB", "--fix", "weights=1048000", "--fix", "batch=64"});
    CHECK(one["need_bytes"] == 1048640);
    CHECK(one["fits"] == false);
    CHECK(one["largest_micro_batch"] == 57);
    CHECK(one["source"] == "dry_run");
    CHECK(one["uncertainty"] == 0);
    CHECK(one["upper_bound"] == false);
    CHECK(one["parts"] == json::parse(R"([{"name": "weights", "bytes": 1048000}, {"name": "activations", "bytes": 640}])"));
    CHECK(one["params"]["weights"] == 1048000);
    const json smaller = estimate(workshop, {"--device-memory", "1MiB", "--fix", "weights=1048000", "--plan", "micro_batch=8"});
    CHECK(smaller["need_bytes"] == 1048080);
    CHECK(smaller["fits"] == true);

    const auto text = tune(workshop, {"estimate", "s.lua", "--fix", "weights=1048000"});
    CHECK(text.status == 0);
    CHECK_THAT(text.out, Contains("activations"));
    CHECK_THAT(text.out, Contains("by dry_run, exact"));
    CHECK_THAT(text.out, !Contains("largest micro-batch"));  // of no device
    CHECK(estimate(workshop, {"--fix", "weights=100"})["fits"].is_null());
}

TEST_CASE("estimate --per tabulates a parameter's values") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    const json table = estimate(workshop, {"--device-memory", "1MiB", "--fix", "batch=64", "--per", "weights"});
    REQUIRE(table["per"]["rows"].size() == 3);
    CHECK(table["per"]["rows"][0]["largest_micro_batch"] == 65536);
    CHECK(table["per"]["rows"][1]["largest_micro_batch"] == 57);
    CHECK(table["per"]["rows"][2]["in_space"] == false);  // with a batch of 64
    const auto text = tune(workshop, {"estimate", "s.lua", "--device-memory", "1MiB", "--per", "weights"});
    CHECK_THAT(text.out, Contains("65536 or more"));
    const auto wrong = tune(workshop, {"estimate", "s.lua", "--per", "weight"});
    CHECK(wrong.status == 2);
    CHECK_THAT(wrong.error, Contains("--per: unknown parameter 'weight'; " + did_you_mean("weights")));
}

TEST_CASE("estimate tells which share of the space fits, asking once for each combination that matters") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    const json space = estimate(workshop, {"--device-memory", "1MiB"})["space"];
    CHECK(space["combinations"] == 5);
    CHECK(space["looked_at"] == 5);
    CHECK(space["fit_as_they_are"] == 3);
    CHECK(space["fit_with_a_smaller_micro_batch"] == 1);
    CHECK(space["never_fit"] == 1);
    CHECK(space["random_draws"] == false);  // how long it takes says nothing about memory
    CHECK(space["predictions_made"] == 7);  // five, and a micro-batch of 1 for the two that do not fit
    const json fixed = estimate(workshop, {"--device-memory", "1MiB", "--space", "--fix", "weights=1048000"})["space"];
    CHECK(fixed["looked_at"] == 2);
    CHECK(fixed["fit_with_a_smaller_micro_batch"] == 1);
    const auto counted = tune(workshop, {"space", "s.lua", "--device-memory", "1MiB"});
    CHECK_THAT(counted.out,
               Contains("guard dry_run with 1.00 MiB keeps 4 of 5 combinations, 1 of them with a smaller micro-batch, and refuses 1"));
    CHECK(tune(workshop, {"estimate", "s.lua", "--space"}).status == 2);
}

TEST_CASE("estimate of a space names a fixed value that no combination has, and fixed parameters that nobody asks for") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    const auto space = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"estimate", "s.lua", "--device-memory", "1MiB", "--space"});
        return tune(workshop, words);
    };
    const auto outside = space({"--fix", "batch=7"});
    CHECK(outside.status == 2);
    CHECK_THAT(outside.error, Contains(fixed_parameter("batch", "7", "one of 8, 64")));
    const auto together = space({"--fix", "batch=64", "--fix", "weights=2000000"});
    CHECK(together.status == 2);
    CHECK_THAT(together.error, Contains("fixed parameter 'batch': got 64; expected 8 beside weights=2000000"));
    // The same of random draws: what is not known to leave memory alone is not counted through.
    workshop.write("s.lua", std::regex_replace(script, std::regex{"seconds\", 0"}, "x\", 0"));
    const auto drawn = space({"--fix", "batch=7"});
    CHECK(drawn.status == 2);
    CHECK_THAT(drawn.error, Contains(fixed_parameter("batch", "7", "one of 8, 64")));
    const auto one = space({"--fix", "batch=64", "--fix", "weights=2000000"});
    CHECK(one.status == 2);
    CHECK_THAT(one.error, Contains("fixed parameter 'batch': got 64; expected 8 beside weights=2000000"));
}

TEST_CASE("a fixed value that only some branches have restricts the space to them, counted or drawn") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    const json counted = estimate(workshop, {"--device-memory", "1MiB", "--space", "--fix", "batch=64"})["space"];
    CHECK(counted["looked_at"] == 2);
    CHECK(counted["never_fit"] == 0);
    workshop.write("s.lua", std::regex_replace(script, std::regex{"seconds\", 0"}, "x\", 0"));
    const json drawn = estimate(workshop, {"--device-memory", "1MiB", "--space", "--fix", "batch=64"})["space"];
    CHECK(drawn["random_draws"] == true);
    CHECK(drawn["looked_at"] == 1000);
    CHECK(drawn["never_fit"] == 0);
    const json fixed_x = estimate(workshop, {"--device-memory", "1MiB", "--space", "--fix", "x=0.0005"})["space"];
    CHECK(fixed_x["random_draws"] == false);  // nothing that may matter is left open
    CHECK(fixed_x["looked_at"] == 5);

    // One configuration: the parameter that excludes the fixed value is changed, and no other.
    workshop.write("s.lua", std::regex_replace(script, std::regex{"\\{ 100, 1048000, 2000000 \\}"}, "{ 2000000, 1048000, 100 }"));
    const json one = estimate(workshop, {"--fix", "batch=64"});
    CHECK(one["params"]["weights"] == 100);  // the trainer's standard
    const auto text = tune(workshop, {"try", "s.lua", "--fix", "batch=64"});
    CHECK(text.status == 0);
}

TEST_CASE("a fixed parameter that the space has not is one error with the names that it has") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    const std::vector<std::vector<std::string>> commands{{"estimate", "s.lua"},
                                                         {"estimate", "s.lua", "--space", "--device-memory", "1MiB"},
                                                         {"try", "s.lua"},
                                                         {"run", "s.lua"},
                                                         {"trace", "s.lua"}};
    for (std::vector<std::string> words : commands) {
        for (const char* word : {"--fix", "bath=8"}) words.emplace_back(word);
        const auto misspelt = tune(workshop, words);
        INFO(words[0]);
        CHECK(misspelt.status == 2);
        CHECK(misspelt.error ==
              "hpo-tune: error: --fix: unknown parameter 'bath'; " + did_you_mean("batch") + "; known: weights, batch, seconds\n");
    }
    CHECK_FALSE(std::filesystem::exists(workshop.path("hpo.db")));
    workshop.write("fixed.lua", std::regex_replace(script, std::regex{"guard = "}, "fix = { bath = 8 }, guard = "));
    CHECK_THAT(tune(workshop, {"try", "fixed.lua"}).error, Contains("fixed.lua: fix: unknown parameter 'bath'; " + did_you_mean("batch")));
    // A parameter of a branch that these values exclude is only noted.
    workshop.write("s.lua", std::regex_replace(script, std::regex{"trial:float"},
                                               "if weights == 100 then trial:int(\"steps\", 0, 2) end trial:float"));
    const auto other = tune(workshop, {"estimate", "s.lua", "--fix", "steps=1", "--fix", "weights=1048000"});
    CHECK(other.status == 0);
    CHECK_THAT(other.error, Contains("note: --fix steps: the space does not ask for it under these values"));
}

TEST_CASE("estimate of a space says when time was up before all was looked at") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    const json each = estimate(workshop, {"--device-memory", "1MiB", "--within", "0.000001"})["space"];
    CHECK(each["random_draws"] == false);
    CHECK(each["complete"] == false);
    CHECK(each["looked_at"] == 0);
    workshop.write("s.lua", std::regex_replace(script, std::regex{"seconds\", 0"}, "x\", 0"));  // which may matter, as far as is known
    const json draws = estimate(workshop, {"--device-memory", "1MiB", "--within", "0.000001"})["space"];
    CHECK(draws["random_draws"] == true);
    CHECK(draws["complete"] == false);
    const auto text = tune(workshop, {"estimate", "s.lua", "--device-memory", "1MiB", "--within", "0.000001"});
    CHECK_THAT(text.out, Contains("time ran out: the rest was not checked"));
}

TEST_CASE("estimate of a space says what its predictions say of themselves") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    const std::vector<std::string> words{"estimate", "s.lua", "--device-memory", "1MiB", "--set", "fault=throw_in_dry_run"};
    const auto text = tune(workshop, words);
    INFO(text.error);
    CHECK(text.status == 0);
    CHECK_THAT(text.out, Contains("predictions: " + probed_instead + "; no action is needed (") && !Contains("no dry_run"));
    CHECK(text.out.find("predictions: ") == text.out.rfind("predictions: "));
    const auto counted = tune(workshop, {"space", "s.lua", "--device-memory", "1MiB", "--set", "fault=throw_in_dry_run"});
    CHECK_THAT(counted.out, Contains(" keeps ") && Contains("\npredictions: " + probed_instead + "; no action is needed ("));
}

TEST_CASE("estimate gives a plugin as long for an answer as --plugin-timeout says") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    const auto hangs =
        tune(workshop, {"estimate", "s.lua", "--set", "fault=hang_in_dry_run", "--fix", "weights=100", "--plugin-timeout", "2s"});
    CHECK(hangs.status == 0);
    CHECK_THAT(hangs.out, Contains("by probe") && Contains("no answer within 2 s"));
}

TEST_CASE("plain progress tells the micro-batches that a trial was shrunk to") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    const auto run = tune(workshop, {"run", "s.lua", "--trials", "2", "--device-memory", "1MiB", "--fix", "weights=1048000", "--fix",
                                     "batch=64", "--progress", "plain"});
    CHECK(run.status == 0);
    CHECK_THAT(run.error, Contains("trial 0: weights=1048000 batch=64 seconds=") && Contains("; batch 64 as 2 x 32\n"));
    const auto whole = tune(workshop, {"run", "s.lua", "--trials", "1", "--device-memory", "1MiB", "--fix", "weights=100", "--fix",
                                       "batch=64", "--progress", "plain", "--store", "whole.db"});
    CHECK(whole.status == 0);
    CHECK_THAT(whole.error, Contains("trial 0: weights=100 batch=64 seconds=") && !Contains("batch 64 as"));
}

TEST_CASE("estimate under the guard that learns begins with what the store's studies have measured on the device, as a run does") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    const std::vector<std::string> question{"--guard", "calibrated", "--fix", "weights=1048000", "--fix", "batch=8"};
    const auto asked = [&](std::vector<std::string> more) {
        more.insert(more.begin(), question.begin(), question.end());
        return estimate(workshop, more);
    };
    const json new_to_it = asked({});
    CHECK(new_to_it["learned_from_attempts"] == 0);
    const auto run = tune(workshop, {"run", "s.lua", "--trials", "20", "--device-memory", "4MiB", "--store", "learned.db", "--guard",
                                     "dry_run", "--fix", "weights=1048000", "--progress", "none"});
    INFO(run.error);
    REQUIRE(run.status == 0);
    CHECK(asked({"--store", "learned.db"})["learned_from_attempts"] == 0);  // this trainer does not tell its peaks
    const auto measured =
        run_command(workshop, {"/usr/bin/python3", "-c",
                               "import sqlite3\nd = sqlite3.connect('learned.db')\n"
                               "d.execute('UPDATE hpo_attempts SET peak_allocated_bytes = predicted_bytes')\nd.commit()"});
    REQUIRE(measured.status == 0);
    const json learned = asked({"--store", "learned.db"});
    CHECK(learned["learned_from_attempts"] == 20);
    CHECK(learned["need_bytes"] < new_to_it["need_bytes"]);
    CHECK(learned["need_bytes"] >= 1048080);
    CHECK(asked({"--store", "learned.db", "--device", "cuda"})["learned_from_attempts"] == 0);
    CHECK(estimate(workshop, {"--fix", "weights=100", "--store", "learned.db"})["learned_from_attempts"] == 0);  // dry_run does not learn
    const auto text = tune(workshop, {"estimate", "s.lua", "--guard", "calibrated", "--fix", "weights=100", "--store", "learned.db"});
    CHECK_THAT(text.out, Contains("guard calibrated has learned from 20 attempts of learned.db on this device"));
    CHECK(asked({"--store", "learned.db", "--set", "fault=throw_in_dry_run"})["learned_from_attempts"] ==
          0);  // a probe's errors are others
    const json kept_out = estimate(workshop, {"--guard", "calibrated:carry=false", "--fix", "weights=100", "--store", "learned.db"});
    CHECK(kept_out["learned_from_attempts"] == 0);
}

TEST_CASE("estimate answers for a device that this machine lacks, and from a weaker source with its reason") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    const json cuda = estimate(workshop, {"--device", "cuda", "--device-memory", "1MiB", "--fix", "weights=100"});
    CHECK(cuda["device"] == "cuda");
    CHECK(cuda["need_bytes"] == 180);
    const json probed = estimate(workshop, {"--set", "fault=throw_in_dry_run", "--fix", "weights=100"});
    CHECK(probed["source"] == "probe");
    CHECK(probed["need_bytes"] == 198);  // a tenth more is possible
    CHECK_THAT(probed["remark"].get<std::string>(), Contains(probed_instead + "; no action is needed ("));
    CHECK(estimate(workshop, {"--set", "fault=throw_in_predict", "--fix", "weights=100"})["source"] == "formula");
    CHECK(estimate(workshop, {"--guard", "formula", "--fix", "weights=100"})["source"] == "formula");
    CHECK(tune(workshop, {"estimate", "s.lua", "--guard", "nonsense"}).status == 2);
}

TEST_CASE("an estimate that nobody could make is no success") {
    const Workshop workshop;
    std::string without = script;
    without.insert(without.find("    trial:float"), "    trial:float(\"x\", -2, -1)\n");  // the trainer then knows no shape
    workshop.write("s.lua", without);
    const auto told = tune(workshop, {"estimate", "s.lua", "--set", "fault=throw_in_predict", "--fix", "weights=100"});
    CHECK(told.status == 6);
    CHECK_THAT(told.out, Contains("not predicted: no dry_run: std::runtime_error: no meta kernel for aten::frob"));
    CHECK(tune(workshop, {"estimate", "s.lua", "--set", "fault=throw_in_predict", "--device-memory", "1MiB"}).status == 6);
    CHECK(tune(workshop, {"estimate", "s.lua", "--fix", "weights=100"}).status == 0);
}

TEST_CASE("a program without its dashes is told about them, and an option's value is no program") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    const auto told = tune(workshop, {"estimate", "--card", "T4", "python", "train.py"});
    CHECK(told.status == 2);
    CHECK_THAT(told.error, Contains("python: a program goes behind --, for example hpo-tune estimate --card T4 -- python train.py"));
    CHECK(tune(workshop, {"estimate", "s.lua", "--store", "python", "--fix", "weights=100"}).status == 0);
    CHECK(tune(workshop, {"estimate", "s.lua", "--store=of_train.py", "--fix", "weights=100"}).status == 0);
}

TEST_CASE("estimate refuses options that would do nothing, and a space without configurations") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    const auto said = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"estimate", "s.lua"});
        const auto result = tune(workshop, words);
        CHECK(result.status == 2);
        return result.error;
    };
    CHECK_THAT(said({"--space", "--per", "batch", "--device-memory", "1MiB"}), Contains("--space and --per exclude each other"));
    CHECK_THAT(said({"--by", "batch"}), Contains("--by lists the whole space: give --space"));
    CHECK_THAT(said({"--per", "batch", "--device-memory", "1MiB", "--within", "5s"}),
               Contains("--within bounds a look at the whole space"));
    CHECK(said({"--device-memory", "1MiB", "--within", "0"}) ==
          "hpo-tune: error: --within: got '0'; expected a duration above 0, such as 15min\n");
    CHECK_THAT(said({"--device-memory", "1MiB", "--within", "0ms"}), Contains("--within: got '0ms'"));
    CHECK_THAT(said({"--guard", "auto:margin=1"}), Contains("--guard: got 'auto:margin=1'; expected auto, which has no options"));
    CHECK_THAT(tune(workshop, {"estimate", "s.lua", "--guard", "unlimited"}).out,
               Contains("not predicted: the guard unlimited makes no predictions"));
    std::string impossible = script;
    impossible.insert(impossible.find("    trial:float"), "    trial:require(false, \"nothing will do\")\n");
    workshop.write("s.lua", impossible);
    CHECK_THAT(said({"--device-memory", "1MiB"}), Contains("s.lua: the space has no configuration: each that was looked at was refused"));
}

TEST_CASE("an empty text is no option that was not given") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    const std::vector<std::pair<std::string, std::string>> options{
        {"--device-memory", "SIZE"}, {"--compute-capability", "N.N"}, {"--within", "DURATION"}, {"--per", "NAME"}, {"--by", "NAME"},
        {"--store", "PATH"}};
    for (const auto& [option, expected] : options) {
        const auto refused = tune(workshop, {"estimate", "s.lua", option, ""});
        CHECK(refused.status == 2);
        CHECK(refused.error ==
              "hpo-tune: error: command line: " + option + ": got ''; expected " + expected + "; see hpo-tune estimate --help\n");
        CHECK(refused.out.empty());
    }
    CHECK_THAT(tune(workshop, {"run", "s.lua", "--device-memory", ""}).error, Contains("--device-memory: got ''; expected SIZE"));
    CHECK_THAT(tune(workshop, {"trace", "s.lua", "--capacity", ""}).error, Contains("--capacity: got ''; expected SIZE"));
}

TEST_CASE("a compute capability that LibTorch does not know is refused, whatever guard predicts") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    for (const char* wrong : {"99.9", "9", "9.1", "Hopper"}) {
        INFO(wrong);
        const auto refused = tune(workshop, {"estimate", "s.lua", "--guard", "unlimited", "--compute-capability", wrong});
        CHECK(refused.status == 2);
        CHECK_THAT(refused.error,
                   Contains(std::string{"--compute-capability: got '"} + wrong + "'; expected one that LibTorch knows: 3.5, ") &&
                       Contains(", 9.0, 10.0, 10.3, 11.0, 12.0, 12.1\n"));
    }
    for (const char* right : {"3.5", "8.9", "9.0", "12.1"})
        CHECK(tune(workshop, {"estimate", "s.lua", "--fix", "weights=100", "--compute-capability", right}).status == 0);
}

TEST_CASE("a compute capability for a prediction on a CPU is one error") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    for (const char* command : {"estimate", "trace"}) {
        const auto refused = tune(workshop, {command, "s.lua", "--device", "cpu", "--compute-capability", "9.0"});
        CHECK(refused.status == 2);
        CHECK(refused.error == "hpo-tune: error: " + has_no_effect("--compute-capability") + "the device is cpu; leave it out\n");
        CHECK(refused.out.empty());
    }
}

TEST_CASE("a device that is too small for the study is told before anything starts, with the least that would do") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    const auto run = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"run", "s.lua"});
        return tune(workshop, more);
    };
    const auto none = run({"--device-memory", "1MiB", "--fix", "weights=2000000"});
    CHECK(none.status == 2);
    // One micro-batch of one example is the least that it can be shrunk to.
    CHECK_THAT(none.error,
               Contains("hpo-tune: error: a device of 1.00 MiB is too small: guard dry_run refuses each of 500 random proposals; the "
                        "smallest needs 1.91 MiB (weights=2000000 batch=8"));
    CHECK_THAT(none.error, Contains("give --device-memory at least that"));
    CHECK_FALSE(std::filesystem::exists(workshop.path("hpo.db")));
    CHECK(run({"--device-memory", "2MiB", "--trials", "3", "--fix", "weights=2000000"}).status == 0);
    const auto some = run({"--device-memory", "1MiB", "--trials", "5"});  // part of the space fits
    CHECK(some.status == 0);
    // On a store that is there, too, where no trial is begun for it; with what the guard has learned.
    const auto later = run({"--device-memory", "1MiB", "--trials", "6", "--fix", "weights=2000000"});
    CHECK(later.status == 2);
    CHECK_THAT(later.error, Contains("a device of 1.00 MiB is too small") && Contains("the smallest needs 1.91 MiB"));
    CHECK_THAT(tune(workshop, {"check", "s.lua", "--device-memory", "1MiB", "--fix", "weights=2000000"}).error,
               Contains("a device of 1.00 MiB is too small"));
    hpo::store::Snapshot snapshot{workshop.path("hpo.db")};
    const auto studies = snapshot.studies();
    REQUIRE(studies.size() == 1);
    CHECK(snapshot.trials(studies[0]).size() == 5);
    CHECK(snapshot.rejections(studies[0]).size() < 100);
    // Budgets may change between runs of a study.
    CHECK(run({"--device-memory", "3MiB", "--trials", "7"}).status == 0);
}

TEST_CASE("where the device's memory is known the guard is calibrated, unless another one is named") {
    const Workshop workshop;
    std::string silent = script;
    silent.erase(silent.find("guard = \"dry_run\", "), std::string_view{"guard = \"dry_run\", "}.size());
    workshop.write("s.lua", silent);
    const auto guard_of = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"run", "s.lua", "--trials", "1", "-v", "--store", "g.db"});
        const auto result = tune(workshop, more);
        std::smatch found;
        return std::regex_search(result.error, found, std::regex{"guard +(\\w+)"}) ? found[1].str() : result.error;
    };
    CHECK(guard_of({"--device-memory", "1MiB"}) == "calibrated");
    CHECK(guard_of({"--device-memory", "1MiB", "--guard", "auto"}) == "calibrated");
    CHECK(guard_of({"--device-memory", "1MiB", "--guard", "formula"}) == "formula");
    CHECK(guard_of({"--device", "cpu"}) == "unlimited");
}

TEST_CASE("a run keeps its predictions for the next one, and asks anew for those that are damaged") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    const auto run = [&](const std::string& trials) {
        const auto result = tune(workshop, {"run", "s.lua", "--device-memory", "1MiB", "--trials", trials, "--workers", "1"});
        INFO(result.error);
        return result.status;
    };
    const auto sql = [&](const std::string& statement) {
        const auto result = run_command(
            workshop, {"/usr/bin/python3", "-c",
                       "import sqlite3, sys\nd = sqlite3.connect('hpo.db')\nprint([list(r) for r in d.execute(sys.argv[1])])\nd.commit()",
                       statement});
        REQUIRE(result.status == 0);
        return result.out;
    };
    CHECK(run("6") == 0);
    const std::string kept = sql("SELECT key, prediction, predicted_at FROM hpo_predictions ORDER BY key");
    CHECK_THAT(kept, Contains("activations"));
    CHECK(sql("SELECT DISTINCT estimate_source FROM hpo_attempts") == "[['dry_run']]\n");
    CHECK(run("12") == 0);
    CHECK_THAT(sql("SELECT key, prediction, predicted_at FROM hpo_predictions ORDER BY key"), Contains(kept.substr(2, kept.find("]") - 2)));
    sql("UPDATE hpo_predictions SET prediction = '{\"need\": -7}'");
    CHECK(run("24") == 0);
    CHECK(sql("SELECT DISTINCT estimate_source FROM hpo_attempts") == "[['dry_run']]\n");
}

TEST_CASE("estimate says nothing of micro-batches where the trainer has no batch") {
    const Workshop workshop;
    workshop.write("bowl.lua", slow_bowl({.trials = 1}));
    const std::vector<std::string> asked{"estimate", "bowl.lua", "--device-memory", "4MiB", "--guard", "limit:bytes=1MiB", "--fix", "x=1"};
    const auto one = tune(workshop, asked);
    INFO(one.error);
    CHECK(one.status == 0);
    CHECK_THAT(one.out, Contains("\nfits\n") && !Contains("micro-batch"));
    std::vector<std::string> per = asked;
    per.insert(per.end(), {"--per", "x"});
    CHECK_THAT(tune(workshop, per).out, Contains("required") && !Contains("micro-batch"));
}

TEST_CASE("estimate says what no digit hides, and nothing of what nobody knows") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    // 576 bytes are beside the weights, 640 are wanted.
    const auto over = tune(workshop, {"estimate", "s.lua", "--device-memory", "1MiB", "--fix", "weights=1048000", "--fix", "batch=64"});
    CHECK_THAT(
        over.out,
        Contains("100.01 % of the device") &&
            Contains("does not fit; largest micro-batch that fits: 57, in 2 passes a step\na step of several passes keeps all gradients"));
    const std::vector<std::string> limited{"estimate", "s.lua",       "--device-memory", "1MiB",
                                           "--fix",    "weights=100", "--guard",         "limit:bytes=1MiB"};
    const auto cap = tune(workshop, limited);
    INFO(cap.error);
    CHECK_THAT(cap.out, Contains("by limit\n") && !Contains("exact"));
    // A cap is the same for all: none of them needs more than the smallest.
    CHECK_THAT(cap.out, Contains("fits; every micro-batch fits; above 8 examples the need stays the same\n"));
    const json told = estimate(workshop, {limited.begin() + 2, limited.end()});
    CHECK(told["uncertainty"].is_null());
    CHECK(told["upper_bound"].is_null());
    CHECK(told["larger_need_no_more"] == true);
}

TEST_CASE("estimate says that a prediction is an upper bound and why, and not that it is exact") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    const std::vector<std::string> words{"estimate", "s.lua", "--fix", "weights=100", "--set", "fault=upper_bound_in_dry_run"};
    const auto text = tune(workshop, words);
    INFO(text.error);
    CHECK_THAT(text.out, Contains("by dry_run, an upper bound; the heaviest step may come too early to count\n") && !Contains("exact"));
    const json told = estimate(workshop, {words.begin() + 2, words.end()});
    CHECK(told["upper_bound"] == true);
    CHECK(told["uncertainty"] == 0);
    CHECK(told["confidence"] == 0.98);  // of a need that is not too low
}

TEST_CASE("estimate of a space tells how far it is where nobody watches a terminal") {
    const Workshop workshop;
    workshop.write("s.lua", std::regex_replace(script, std::regex{"\"fault\", fault"}, "\"fault\", profile_seconds = 0.9, fault"));
    const auto slow = tune(workshop, {"estimate", "s.lua", "--device-memory", "1MiB", "--guard", "formula"});
    INFO(slow.error);
    CHECK(slow.status == 0);
    CHECK_THAT(slow.error, Catch::Matches("([0-9]+ of 5 configurations, 0 predictions\n)+"));
}

TEST_CASE("estimate takes predictions from a store that is there and leaves its own there, and makes none") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    const std::vector<std::string> words{"--device-memory", "1MiB", "--store", "kept.db"};
    CHECK(estimate(workshop, words)["space"]["predictions_made"] == 7);
    CHECK_FALSE(std::filesystem::exists(workshop.path("kept.db")));
    const auto noted = tune(workshop, {"estimate", "s.lua", "--store", "kept.db", "--fix", "weights=100"});
    CHECK_THAT(noted.error, Contains("note: --store kept.db: no store"));
    CHECK_THAT(tune(workshop, {"estimate", "--help"}).out,
               Contains("kept there; estimate never makes a store, since the path may be mistyped"));
    REQUIRE(tune(workshop, {"run", "s.lua", "--store", "kept.db", "--device-memory", "1MiB", "--trials", "8"}).status == 0);
    const json after_run = estimate(workshop, words)["space"];
    CHECK(after_run["predictions_made"] < 7);
    CHECK(after_run["fit_as_they_are"] == 3);
    CHECK(estimate(workshop, words)["space"]["predictions_made"] == 0);
}

TEST_CASE("estimate reads a store that cannot be written, says so, and leaves it as it is") {
    const Workshop workshop;
    workshop.write("s.lua", script);
    const auto folder = workshop.path("archive");
    std::filesystem::create_directory(folder);
    const std::string store = (folder / "kept.db").string();
    REQUIRE(tune(workshop, {"run", "s.lua", "--store", store, "--device-memory", "4MiB", "--trials", "8", "--progress", "none"}).status ==
            0);
    const std::string before = read_file(store);
    using std::filesystem::perms;
    std::filesystem::permissions(store, perms::owner_read);
    std::filesystem::permissions(folder, perms::owner_read | perms::owner_exec);
    const auto read = bound_tune(workshop, {"estimate", "s.lua", "--json", "--store", store, "--device-memory", "4MiB"});
    const auto run = bound_tune(workshop, {"run", "s.lua", "--store", store, "--device-memory", "4MiB"});
    std::filesystem::permissions(folder, perms::owner_all);
    INFO(read.error);
    CHECK(read.status == 0);
    CHECK_THAT(read.error,
               Contains("note: --store " + store + ": no store that can be written here now; predictions are neither taken from it"));
    CHECK(json::parse(read.out)["space"]["predictions_made"] == 5);
    CHECK(run.status != 0);  // else nothing bound it
    CHECK(read_file(store) == before);
}
