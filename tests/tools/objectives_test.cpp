// SPDX-License-Identifier: MIT
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;
using Catch::Contains;
using nlohmann::json;

namespace {

std::string script_with(const std::string& lines) {
    return R"(
local hpo = require "hpo"
return hpo.study {
  name = "two",
  trainer = "quadratic",
  trials = 6, seed = 3, device = "cpu", workers = 1,
)" + lines +
           R"(
  space = function(trial)
    trial:float("x", -5, 5)
    trial:int("sleep_ms", 1, 300)
  end,
}
)";
}

const std::string two = "objectives = { { metric = 'value', direction = 'minimize' }, { metric = 'seconds', direction = 'maximize' } },";

CommandResult tune(const Workshop& workshop, std::vector<std::string> words) {
    words.insert(words.begin(), tool("hpo-tune"));
    return run_command(workshop, words);
}
CommandResult analyze(const Workshop& workshop, std::vector<std::string> words) {
    words.insert(words.begin(), tool("hpo-analyze"));
    words.insert(words.end(), {"--store", workshop.file("hpo.db")});
    return run_command(workshop, words);
}

}  // namespace

TEST_CASE("a study of two objectives runs from its script to its Pareto front") {
    const Workshop workshop;
    const std::string script = workshop.write("two.lua", script_with(two));
    const std::string store = workshop.file("hpo.db");
    const auto checked = tune(workshop, {"check", script, "--store", store});
    CAPTURE(checked.error);
    REQUIRE(checked.status == 0);
    const auto ran = tune(workshop, {"run", script, "--store", store});
    CAPTURE(ran.out, ran.error);
    REQUIRE(ran.status == 0);
    CHECK_THAT(ran.error, Contains("complete, value ") && Contains(", seconds "));
    CHECK_THAT(ran.out, Contains("Pareto front: ") && Contains("trial  minimize value  maximize seconds\n"));

    hpo::store::Sqlite stored{store};
    const std::vector directions{hpo::Direction::minimize, hpo::Direction::maximize};
    std::vector<hpo::Trial> trials;
    stored.refresh(stored.open_study("two", directions, hpo::Store::Open::resume).id, trials);
    REQUIRE(trials.size() == 6);
    std::vector<std::int64_t> front;
    for (const hpo::Trial& trial : trials) {
        REQUIRE(trial.values.size() == 2);
        const double off = *trial.params.number("x") - 1;
        CHECK(trial.values[0] == Approx(off * off + 1));
        CHECK(trial.values[1] >= *trial.params.number("sleep_ms") / 1000);
        CHECK(trial.values[1] == trial.attempts.at(0).seconds);
        const bool beaten = std::any_of(trials.begin(), trials.end(), [&](const hpo::Trial& other) {
            return other.values[0] < trial.values[0] && other.values[1] > trial.values[1];
        });
        if (!beaten) front.push_back(trial.number);
    }
    const auto again = tune(workshop, {"run", script, "--store", store, "--json", "--progress", "none"});
    REQUIRE(again.status == 0);
    const json result = json::parse(again.out);
    CHECK(result["best"].is_null());
    std::vector<std::int64_t> told;
    for (const json& each : result["front"]) {
        told.push_back(each["trial"]);
        CHECK(each["values"].size() == 2);
        CHECK(each["params"].contains("x"));
    }
    CHECK(told == front);

    const auto best = analyze(workshop, {"best", "--json"});
    REQUIRE(best.status == 0);
    told.clear();
    const json winners = json::parse(best.out);
    for (const json& each : winners["best"]) told.push_back(each["number"]);
    CHECK(told == front);
    CHECK_THAT(analyze(workshop, {"summary"}).out, Contains("on the Pareto front"));
    CHECK(analyze(workshop, {"trials"}).status == 0);
    CHECK(analyze(workshop, {"oom"}).status == 0);

    const auto tried = tune(workshop, {"try", script, "--fix", "x=1", "--fix", "sleep_ms=1"});
    CHECK(tried.status == 0);
    CHECK_THAT(tried.out, Contains("value 1\n") && Contains("seconds "));
    CHECK_THAT(tune(workshop, {"try", script, "--store", store, "--trial", "best"}).error, Contains("has 2 objectives"));
}

TEST_CASE("what several objectives cannot have is refused before a trial, by check and by run") {
    const Workshop workshop;
    struct Case {
        std::string lines;
        std::string error;
    };
    const std::vector<Case> cases{
        {two + "pruner = 'median',", ": pruner: got 'median' for several objectives; expected none"},
        {two + "sampler = 'cmaes',",
         ": sampler: cmaes: got 2 objectives; expected one, because it learns from one value; auto, gp and tpe take several"},
        {two + "save_best = true,", "save-best: got several objectives; expected one"},
        {"objectives = { { metric = 'value', direction = 'minimize' }, { metric = 'value', direction = 'maximize' } },",
         "two.lua:7: objectives: got metric 'value' twice; expected each metric once"},
        {"objectives = { { metric = 'value', direction = 'minimize' }, { metric = 'f1', direction = 'maximize' } },",
         "two.lua:7: trainer quadratic: unknown metric 'f1'; known: value, seconds, peak_memory_bytes"},
        {"objectives = { { metric = 'seconds', direction = 'minimize' } },",
         "two.lua:7: trainer quadratic: unknown metric 'seconds'; known: value"},
        {"objective = {\n direction = 'minimize',\n metric = 'f1' },", "two.lua:9: trainer quadratic: unknown metric 'f1'; known: value"},
        {"objective = { metric = 'value',\n direction = 'maximize' },", "two.lua:7: direction of the metric 'value': got 'maximize'"},
    };
    for (const Case& each : cases) {
        CAPTURE(each.lines);
        const std::string script = workshop.write("two.lua", script_with(each.lines));
        for (const char* command : {"check", "run"}) {
            const auto result = tune(workshop, {command, script, "--store", workshop.file("refused.db")});
            CHECK(result.status == 2);
            CHECK_THAT(result.error, Contains(each.error));
        }
    }
    const std::string script = workshop.write("two.lua", script_with(two));
    REQUIRE(tune(workshop, {"run", script, "--store", workshop.file("hpo.db"), "--trials", "1"}).status == 0);
    std::string other = script_with(two);
    other.replace(other.find("'seconds'"), 9, "'peak_memory_bytes'");
    workshop.write("two.lua", other);
    const auto changed = tune(workshop, {"run", script, "--store", workshop.file("hpo.db")});
    CHECK(changed.status == 2);
    CHECK_THAT(changed.error, Contains("metric \"value, peak_memory_bytes\" for study two; expected metric \"value, seconds\""));
}
