// SPDX-License-Identifier: MIT
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "hpo/guard/unlimited.hpp"
#include "hpo/pruner/none.hpp"
#include "hpo/recovery/fail.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/sampler/tpe.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/store/retries.hpp"
#include "hpo/tuner.hpp"
#include "support/catch.hpp"

using namespace hpo;

namespace {

/// Gives one value for everything; throws instead where it is NaN.
struct Fixed {
    double value = 0;
    double suggest(const Ask&) const {
        if (value != value) throw std::runtime_error{"the model has no data"};
        return value;
    }
};
static_assert(Sampler<Fixed>);

/// The error of a study with this sampler, and what became of its trials.
struct Ended {
    std::string error;
    std::vector<Trial> trials;
};

template <class... Objective>
Ended study_with(double value, Objective... objective) {
    store::InMemory store;
    Ended ended;
    try {
        Tuner tuner{Fixed{value}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
        (void)tuner.optimize(store, "s", objective..., {.trials = 4});
    } catch (const std::exception& error) {
        ended.error = error.what();
    }
    store.refresh(1, ended.trials);
    return ended;
}

/// The same for a study whose parameters are asked for while it runs and for one whose parameters are known before.
template <class Suggest>
void check_refused(double value, Suggest suggest, const std::string& message) {
    const Ended live = study_with(value, [suggest](LiveTrial& trial) {
        try {
            suggest(trial);
        } catch (...) {  // whatever an objective makes of it
        }
        return 1.0;
    });
    const Ended known = study_with(value, Space{[suggest](SpaceTrial& trial) { suggest(trial); }}, [](tuner::RunningJob&) { return 1.0; });
    for (const Ended& ended : {live, known}) {
        CHECK(ended.error == message);
        REQUIRE(ended.trials.size() == 1);
        CHECK(is_lost(ended.trials[0]));  // it says nothing about the trial
        CHECK(ended.trials[0].params.empty());
    }
}

}  // namespace

TEST_CASE("a value that the parameter does not have is the sampler's error, and ends the run") {
    check_refused(
        0.123, [](SpaceTrial& trial) { trial.suggest_int("n", 1, 5); }, "sampler: parameter 'n': got 0.123; expected int [1, 5]");
    check_refused(
        7, [](SpaceTrial& trial) { trial.suggest_float("x", 0, 1); }, "sampler: parameter 'x': got 7; expected float [0, 1]");
    check_refused(
        0.3, [](SpaceTrial& trial) { trial.suggest_float("x", 0, 1, {.step = 0.25}); },
        "sampler: parameter 'x': got 0.3; expected float [0, 1] step 0.25");
    check_refused(
        2,
        [](SpaceTrial& trial) {
            trial.suggest_categorical("kind", {std::string{"a"}, std::string{"b"}});
        },
        "sampler: parameter 'kind': got 2; expected the index of one of a, b");
    check_refused(
        4, [](SpaceTrial& trial) { trial.suggest_int("n", 1, 5, {.max = 3}); },
        "sampler: parameter 'n': got 4, which this trial's narrowing leaves out; expected int [1, 3]");
    check_refused(
        std::numeric_limits<double>::infinity(), [](SpaceTrial& trial) { trial.suggest_float("x", 0, 1); },
        "sampler: parameter 'x': got inf; expected float [0, 1]");
}

TEST_CASE("an exception of a sampler is the run's, and no trial's failure") {
    check_refused(
        std::numeric_limits<double>::quiet_NaN(), [](SpaceTrial& trial) { trial.suggest_float("x", 0, 1); }, "the model has no data");
}

TEST_CASE("the samplers of the library give legal values at the edges of every kind of range") {
    const double huge = 1e15;
    const Space space = [&](SpaceTrial& trial) {
        trial.suggest_float("narrow log", 1e-7, 1.0000001e-7, {.log = true});
        trial.suggest_float("wide log", 1e-300, 1e300, {.log = true});
        trial.suggest_float("log to a bound", 1e-5, 1e-1, {.log = true, .min = 3e-4, .max = 3e-3});
        trial.suggest_float("fine step", 0, 1, {.step = 1e-6});
        trial.suggest_float("odd step", 0.1, 0.7, {.step = 0.1});
        trial.suggest_float("far", -huge, huge);
        trial.suggest_float("narrowed step", -3, 3, {.step = 0.3, .min = -1.5, .max = 0.9});
        trial.suggest_int("log", 1, 1'000'000'000, {.log = true});
        trial.suggest_int("step", -7, 7, {.step = 3, .min = -4, .max = 5});
        trial.suggest_int("many", -(std::int64_t{1} << 52), std::int64_t{1} << 52);
        trial.suggest_categorical("kind", {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}},
                                  {.only = std::vector<Value>{std::int64_t{3}}});
    };
    const auto run = [&](auto sampler) {
        Tuner tuner{std::move(sampler), pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
        return tuner.optimize(store::InMemory{}, "s", space, [](tuner::RunningJob& job) { return *job.params().number("odd step"); },
                              {.trials = 150});
    };
    CHECK(run(sampler::Random{}).trials.size() == 150);
    CHECK(run(sampler::Tpe{}).trials.size() == 150);
}

TEST_CASE("an infinite value is never the best") {
    const double infinity = std::numeric_limits<double>::infinity();
    const auto best_of = [](const std::vector<double>& values, Direction direction) {
        Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
        const TuneResult result = tuner.optimize(store::InMemory{}, "s",
                                                 [&](LiveTrial& trial) {
                                                     trial.suggest_float("x", 0, 1);
                                                     return values[static_cast<std::size_t>(trial.number())];
                                                 },
                                                 {.trials = static_cast<std::int64_t>(values.size()), .directions = {direction}});
        for (const Trial& trial : result.trials) CHECK(trial.state == TrialState::complete);
        return result.best() ? result.best()->number : -1;
    };
    CHECK(best_of({3, -infinity, 2, infinity}, Direction::minimize) == 2);
    CHECK(best_of({3, -infinity, 2, infinity}, Direction::maximize) == 0);
    CHECK(best_of({infinity, -infinity}, Direction::minimize) == -1);
}
