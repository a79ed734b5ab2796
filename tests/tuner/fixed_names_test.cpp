// SPDX-License-Identifier: MIT
#include "hpo/tuner/fixed_names.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hpo/hpo.hpp"
#include "support/catch.hpp"

using namespace hpo;

namespace {

double nothing(tuner::RunningJob& /*job*/) { return 1; }

const Space branching_space = [](SpaceTrial& trial) {
    if (trial.suggest_categorical("model", {"small", "large"}) == Value{"large"}) trial.suggest_int("layers", 1, 9);
};

TuneResult tune_fixed(const Space& space, std::vector<std::pair<std::string, Value>> fixed, Store& store) {
    Tuner tuner{sampler::Random{}};
    return tuner.optimize(store, "s", space, nothing, {.trials = 3, .fixed = std::move(fixed)});
}

}  // namespace

TEST_CASE("a fixed name that a space does not have is an error that names those that it has, before anything is stored") {
    const Space space = [](SpaceTrial& trial) {
        trial.suggest_float("lr", 0, 1);
        trial.suggest_int("layers", 1, 3);
    };
    store::InMemory store;
    CHECK_THROWS_WITH(tune_fixed(space, {{"lr", Value{0.5}}, {"layer", Value{std::int64_t{2}}}}, store),
                      "TuneOptions::fixed: unknown parameter 'layer'; did you mean 'layers'?; known: layers, lr");
    CHECK(store.studies().empty());
    CHECK(tune_fixed(space, {{"lr", Value{0.5}}}, store).unused_fixed.empty());
}

TEST_CASE("a name that is fixed twice is an error, before anything is stored") {
    store::InMemory store;
    CHECK_THROWS_WITH(tune_fixed(branching_space, {{"model", Value{"small"}}, {"model", Value{"large"}}}, store),
                      "TuneOptions::fixed: 'model': got small and large; expected one value");
    CHECK(store.studies().empty());
}

TEST_CASE("a fixed name of one branch is no error, and the result says whether a trial took it") {
    store::InMemory store;
    CHECK(tune_fixed(branching_space, {{"model", Value{"large"}}, {"layers", Value{std::int64_t{2}}}}, store).unused_fixed.empty());
    store::InMemory other;
    const TuneResult result = tune_fixed(branching_space, {{"layer", Value{std::int64_t{2}}}}, other);
    CHECK(result.trials.size() == 3);
    CHECK(result.unused_fixed == std::vector<std::string>{"layer"});
}

TEST_CASE("a fixed value that leaves one branch makes the names of the others an error") {
    store::InMemory store;
    CHECK_THROWS_WITH(tune_fixed(branching_space, {{"model", Value{"small"}}, {"layers", Value{std::int64_t{2}}}}, store),
                      "TuneOptions::fixed: unknown parameter 'layers'; known: model");
}

TEST_CASE("a space is asked once ahead if it has the fixed names, and not at all if there are none") {
    const auto asked = [](std::vector<std::pair<std::string, Value>> fixed) {
        int asked_ahead = 0;
        const Space space = [&](SpaceTrial& trial) {
            ++asked_ahead;
            trial.suggest_float("lr", 0, 1);
        };
        tuner::require_fixed_names(space, {.fixed = std::move(fixed)});
        return asked_ahead;
    };
    CHECK(asked({{"lr", Value{0.5}}}) == 1);
    CHECK(asked({}) == 0);
}

TEST_CASE("a fixed value that the space refuses is told as before") {
    store::InMemory store;
    CHECK_THROWS_WITH(tune_fixed(branching_space, {{"model", Value{"huge"}}, {"typo", Value{1.0}}}, store),
                      "fixed parameter 'model': got huge; expected one of small, large");
}

TEST_CASE("an objective that asks while it runs ends with the error once all its trials are in the store") {
    Tuner tuner{sampler::Random{}};
    store::InMemory store;
    const auto objective = [](LiveTrial& trial) { return trial.suggest_float("lr", 0, 1); };
    const TuneOptions options{.trials = 4, .fixed = {{"rl", Value{0.5}}}};
    CHECK_THROWS_WITH(tuner.optimize(store, "s", objective, options), "TuneOptions::fixed: unknown parameter 'rl'; known: lr");
    std::vector<Trial> trials;
    store.refresh(store.studies().at(0).id, trials);
    REQUIRE(trials.size() == 4);
    for (const Trial& trial : trials) CHECK(trial.state == TrialState::complete);
}

TEST_CASE("an objective whose trials ask for different names only says which fixed names were not used") {
    Tuner tuner{sampler::Random{}};
    const auto objective = [](LiveTrial& trial) {
        return trial.number() % 2 == 0 ? trial.suggest_float("even", 0, 1) : trial.suggest_float("odd", 0, 1);
    };
    const TuneResult result = tuner.optimize(store::InMemory{}, "s", objective, {.trials = 4, .fixed = {{"rl", Value{0.5}}}});
    CHECK(result.unused_fixed == std::vector<std::string>{"rl"});
}
