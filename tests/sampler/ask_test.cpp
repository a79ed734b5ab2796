// SPDX-License-Identifier: MIT
// What a request for a parameter offers to the author of a sampler.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "hpo/sampler/random.hpp"
#include "hpo/sampler/suggest.hpp"
#include "support/catch.hpp"

using namespace hpo;

namespace {

/// Draws, by `Ask::clamp`, what is nearest to a number.
struct Nearest {
    [[nodiscard]] double suggest(const Ask& ask) const { return ask.clamp(number); }
    double number;
};
/// Draws by `Ask::uniform`.
struct ByAsk {
    [[nodiscard]] double suggest(const Ask& ask) const { return ask.uniform(); }
};

template <Sampler S>
ParamSet drawn_by(S sampler, const Space& space, std::int64_t number = 0) {
    static const std::vector<Trial> none;
    const History history{.trials = none};
    return suggest_params(sampler, space, {.number = number, .history = history}, Seed{1});
}

Value nearest_to(double number, const Space& space) { return drawn_by(Nearest{number}, space).get<Value>("p"); }

}  // namespace

TEST_CASE("the nearest value of a real parameter is inside its bounds and its narrowing") {
    const Space log = [](SpaceTrial& trial) { trial.suggest_float("p", 1e-4, 1, {.log = true}); };
    CHECK(nearest_to(0.01, log) == Value{0.01});
    CHECK(nearest_to(-5, log) == Value{1e-4});
    CHECK(nearest_to(std::numeric_limits<double>::infinity(), log) == Value{1.0});
    const Space narrowed = [](SpaceTrial& trial) { trial.suggest_float("p", 0, 10, {.min = 2.0, .max = 3.0}); };
    CHECK(nearest_to(7, narrowed) == Value{3.0});
    CHECK(nearest_to(1, narrowed) == Value{2.0});
}

TEST_CASE("the nearest value of a parameter with a step is on its grid, also within a narrowing") {
    const Space real = [](SpaceTrial& trial) { trial.suggest_float("p", 0.1, 1.0, {.step = 0.3, .max = 0.8}); };
    CHECK(nearest_to(0.5, real) == Value{0.1 + 0.3});
    CHECK(nearest_to(9, real) == Value{0.1 + 2 * 0.3});
    const Space whole = [](SpaceTrial& trial) { trial.suggest_int("p", 1, 20, {.step = 4, .min = 2, .max = 16}); };
    CHECK(nearest_to(-1, whole) == Value{std::int64_t{5}});
    CHECK(nearest_to(7.2, whole) == Value{std::int64_t{9}});
    CHECK(nearest_to(1e300, whole) == Value{std::int64_t{13}});
}

TEST_CASE("the nearest of some choices is a number that the trial allows") {
    const Space choices = [](SpaceTrial& trial) {
        const std::vector<Value> values{std::int64_t{8}, "auto", 32.5, std::int64_t{64}};
        trial.suggest_categorical("p", values, {.only = std::vector<Value>{std::int64_t{8}, "auto", 32.5}});
    };
    CHECK(nearest_to(30, choices) == Value{32.5});
    CHECK(nearest_to(1000, choices) == Value{32.5});
    CHECK(nearest_to(-1, choices) == Value{std::int64_t{8}});
    CHECK(nearest_to(0.7, [](SpaceTrial& trial) { trial.suggest_categorical("p", {false, true}); }) == Value{true});
}

TEST_CASE("no number is nearest among texts, and none is nearest to NaN") {
    const Space texts = [](SpaceTrial& trial) { trial.suggest_categorical("p", {"a", "b"}); };
    CHECK_THROWS_WITH(nearest_to(1, texts), "sampler: parameter 'p': got 1; expected one of a, b");
    const Space number = [](SpaceTrial& trial) { trial.suggest_float("p", 0, 1); };
    CHECK_THROWS_WITH(nearest_to(std::nan(""), number), "sampler: parameter 'p': got nan; expected float [0, 1]");
}

TEST_CASE("a uniform draw of a request is that of the sampler random") {
    const Space space = [](SpaceTrial& trial) {
        trial.suggest_float("x", 1e-3, 1, {.log = true, .max = 0.1});
        trial.suggest_int("k", 1, 9, {.step = 2, .min = 3});
        trial.suggest_categorical("c", {"a", "b", "c"}, {.only = std::vector<Value>{"a", "c"}});
    };
    for (std::int64_t number = 0; number < 50; ++number)
        CHECK(drawn_by(ByAsk{}, space, number) == drawn_by(sampler::Random{}, space, number));
}
