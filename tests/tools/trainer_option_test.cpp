// SPDX-License-Identifier: MIT
#include <filesystem>

#include <nlohmann/json.hpp>

#include "hpo/store/snapshot.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"
#include "support/wording.hpp"

using namespace hpo::test;
using Catch::Contains;

namespace {

CommandResult tune_bowl(const Workshop& workshop, std::vector<std::string> words) {
    workshop.write("bowl.lua", R"(
local hpo = require "hpo"
return hpo.study {
  name = "bowl", trainer = { "quadratic", steps = 2 }, objective = { metric = "value", direction = "minimize" },
  sampler = "random", pruner = "none", recovery = "fail", trials = 1,
  space = function(trial) trial:float("x", -5, 5) end,
}
)");
    words.insert(words.begin() + 1, "bowl.lua");
    words.insert(words.begin(), tool("hpo-tune"));
    return run_command(workshop, words);
}

}  // namespace

TEST_CASE("an option of the trainer is set on the command line, whether the script has it or not") {
    const Workshop workshop;
    const auto result = tune_bowl(workshop, {"run", "--trainer-option", "steps=4", "--trainer-option", "a=2.5", "-v"});
    INFO(result.error);
    REQUIRE(result.status == 0);
    CHECK_THAT(result.error, Contains("trainer option steps") && Contains("trainer option a"));
    hpo::store::Snapshot store{workshop.path("hpo.db").string()};
    const hpo::Study study = store.study("bowl");
    const hpo::Trial trial = store.trials(study).at(0);
    CHECK(trial.intermediate.size() == 4);
    const double x = *trial.params.number("x");
    CHECK(trial.values.at(0) == Approx((x - 2.5) * (x - 2.5) + 1));
    const auto configuration = nlohmann::json::parse(store.runs(study).at(0).configuration);
    CHECK(configuration.at("trainer_option.steps") == 4);
}

TEST_CASE("an option that the trainer lacks, and words that are no assignment, are refused") {
    const Workshop workshop;
    const auto misspelt = tune_bowl(workshop, {"check", "--trainer-option", "step=4"});
    CHECK(misspelt.status == 2);
    CHECK_THAT(misspelt.error + misspelt.out, Contains("unknown option 'step'") && Contains(did_you_mean("steps")));
    const auto nothing = tune_bowl(workshop, {"run", "--trainer-option", "steps"});
    CHECK(nothing.status == 2);
    CHECK_THAT(nothing.error, Contains("--trainer-option: got 'steps'; expected NAME=VALUE"));
    CHECK_FALSE(std::filesystem::exists(workshop.path("hpo.db")));
}
