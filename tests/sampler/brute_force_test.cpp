// SPDX-License-Identifier: MIT
#include "hpo/sampler/brute_force.hpp"

#include <set>
#include <string>
#include <vector>

#include "hpo/sampler/suggest.hpp"
#include "support/catch.hpp"

using hpo::sampler::BruteForce;

TEST_CASE("brute force tries every configuration of a finite space once") {
    const auto space = [](hpo::SpaceTrial& trial) {
        trial.suggest_int("units", 1, 20);
        if (trial.suggest_categorical("dropout", {false, true}) == hpo::Value{true}) trial.suggest_float("rate", 0.1, 0.5, {.step = 0.1});
    };
    BruteForce sampler;
    std::vector<hpo::Trial> trials;
    std::set<std::string> all;
    for (;;) {
        const hpo::History history{"study", {}, trials, {}};
        const hpo::TrialContext context{.number = std::ssize(trials), .history = history};
        if (sampler.all_tried(context)) break;
        hpo::Trial& trial = trials.emplace_back();
        trial.number = context.number;
        trial.state = hpo::TrialState::complete;
        trial.params = hpo::suggest_params(
            sampler, space, {.number = trial.number, .history = {"study", {}, {trials.data(), trials.size() - 1}, {}}}, hpo::Seed{1});
        std::string text;
        for (const hpo::Param& param : trial.params) text += hpo::display_text(param.value()) + " ";
        all.insert(text);
        REQUIRE(trials.size() <= 120);
    }
    CHECK(trials.size() == 20 * (1 + 5));
    CHECK(all.size() == 120);
}

TEST_CASE("brute force says which parameter has no end of values, and what takes some of them") {
    BruteForce sampler;
    const hpo::History nothing{};
    for (const auto& space : std::vector<hpo::Space>{[](hpo::SpaceTrial& trial) { trial.suggest_float("lr", 0, 1); },
                                                     [](hpo::SpaceTrial& trial) { trial.suggest_int("lr", 1, 1'000'000); }}) {
        CHECK_THROWS_WITH(hpo::suggest_params(sampler, space, {.number = 0, .history = nothing}, hpo::Seed{1}),
                          Catch::Contains("'lr'") && Catch::Contains("a step") && Catch::Contains("grid"));
    }
}
