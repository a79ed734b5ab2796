// SPDX-License-Identifier: MIT
#include "hpo/space/repetition.hpp"

#include <functional>
#include <string>

#include "hpo/sampler/random.hpp"
#include "hpo/sampler/suggest.hpp"
#include "support/catch.hpp"

using hpo::SpaceTrial;

namespace {

/// What eight trials in a row find of a space; empty: it asks the same each time.
std::string found_in(const hpo::Space& space) {
    hpo::sampler::Random random;
    const hpo::History nothing{"s", {}, {}, {}};
    for (std::int64_t number = 0; number < 8; ++number) {
        const auto params = hpo::suggest_params(random, space, hpo::TrialContext{number, nothing}, hpo::Seed{0});
        if (const auto changed = hpo::changed_question(space, params, number)) return *changed;
    }
    return "";
}

}  // namespace

TEST_CASE("a space that depends on its trial alone asks the same again") {
    CHECK(found_in([](SpaceTrial& trial) {
              const auto depth = trial.suggest_int("depth", 1, 4);
              if (trial.number() % 2 == 0) trial.suggest_float("lr", 0.1, 1, {.log = true, .max = 0.9});
              for (std::int64_t i = 0; i < depth; ++i) trial.suggest_int("width" + std::to_string(i), 1, 64, {.max = 64 / depth});
              trial.suggest_categorical("kind", {1, 2, 3}, {.only = std::vector<hpo::Value>{1, depth > 2 ? 2 : 3}});
              trial.require(depth < 4, "too deep");
          }).empty());
    int calls = 0;  // nothing hangs on it
    CHECK(found_in([&](SpaceTrial& trial) { trial.suggest_int("x", 1, 3), ++calls; }).empty());
    CHECK(calls == 3 * 8);
}

TEST_CASE("a space that counts its calls is found, whatever it counts for") {
    int n = 0;
    const auto counts = [&](const std::function<void(SpaceTrial&)>& ask) {
        n = 0;
        return found_in([&n, ask](SpaceTrial& trial) { ++n, ask(trial); });
    };
    CHECK(counts([&](SpaceTrial& trial) { trial.suggest_int("x" + std::to_string(n), 1, 3); }) == "asks for 'x2'");
    CHECK(counts([&](SpaceTrial& trial) { trial.suggest_int("x", 1, 3 + n); }) == "asks for 'x' as int [1, 5], not as int [1, 4]");
    CHECK(counts([&](SpaceTrial& trial) {
              trial.suggest_int("x", 1, 3);
              if (n % 2 == 1) trial.suggest_int("y", 1, 3);
          }) == "does not ask for 'y'");
    CHECK(counts([&](SpaceTrial& trial) {
              trial.suggest_int("x", 1, 3);
              trial.require(n % 3 != 0, "every third");
          }) == "refuses them: every third");
    CHECK(counts([&](SpaceTrial& trial) { trial.suggest_int("x", 1, 1000, {.max = 1000 - n}); }) == "narrows 'x' otherwise");
    CHECK(counts([&](SpaceTrial& trial) {
              trial.suggest_categorical("x", {1, 2}, {.only = std::vector<hpo::Value>{1 + n % 2}});
          }) == "narrows 'x' so that its value is left out");
}
