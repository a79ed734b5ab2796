// SPDX-License-Identifier: MIT
#include "hpo/sampler/grid.hpp"

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hpo/sampler/suggest.hpp"
#include "support/catch.hpp"

using hpo::sampler::candidate_values;
using hpo::sampler::Grid;

namespace {

/// Runs trials until the sampler has tried all, and gives back their parameters as texts.
std::vector<std::string> tried(Grid& sampler, const hpo::Space& space, std::vector<hpo::Trial>& trials, std::uint64_t seed = 1) {
    std::vector<std::string> all;
    for (std::int64_t number = std::ssize(trials); number < 1000; ++number) {
        const hpo::History history{"study", {}, trials, {}};
        const hpo::TrialContext context{.number = number, .history = history};
        if (sampler.all_tried(context)) return all;
        hpo::Trial& trial = trials.emplace_back();
        trial.number = number;
        trial.params = hpo::suggest_params(sampler, space, context, hpo::Seed{seed});
        trial.state = number % 3 == 0 ? hpo::TrialState::fail : hpo::TrialState::complete;
        std::string text;
        for (const hpo::Param& param : trial.params) text += param.name + "=" + hpo::display_text(param.value()) + " ";
        all.push_back(text);
    }
    return all;
}

void two_by_three(hpo::SpaceTrial& trial) {
    trial.suggest_int("layers", 1, 2);
    trial.suggest_categorical("kind", {"a", "b", "c"});
}

}  // namespace

TEST_CASE("a grid has all values of what has few, and evenly spaced ones of the rest") {
    using Values = std::vector<double>;
    CHECK(candidate_values(hpo::IntDistribution{1, 4, false, 1}, 5) == Values{1, 2, 3, 4});
    CHECK(candidate_values(hpo::IntDistribution{0, 100, false, 1}, 5) == Values{0, 25, 50, 75, 100});
    CHECK(candidate_values(hpo::IntDistribution{8, 64, false, 8}, 3) == Values{8, 40, 64});
    CHECK(candidate_values(hpo::IntDistribution{1, 10000, true, 1}, 5) == Values{1, 10, 100, 1000, 10000});
    CHECK(candidate_values(hpo::IntDistribution{1, 6, true, 1}, 5) == Values{1, 2, 4, 6});  // two of the five fall on one number
    CHECK(candidate_values(hpo::FloatDistribution{0, 1, false, {}}, 3) == Values{0, 0.5, 1});
    CHECK(candidate_values(hpo::FloatDistribution{0.5, 0.5, false, {}}, 3) == Values{0.5});
    CHECK(candidate_values(hpo::FloatDistribution{0, 0.4, false, 0.1}, 9) == Values{0, 0.1, 0.2, 3 * 0.1, 0.4});
    const Values log = candidate_values(hpo::FloatDistribution{1e-5, 1e-1, true, {}}, 5);
    REQUIRE(log.size() == 5);
    for (int k = 0; k < 5; ++k) CHECK(log[static_cast<std::size_t>(k)] == Approx(std::pow(10.0, k - 5)));
    CHECK(log.back() == 1e-1);
    for (const double low : {1e-5, 1e-6, 3e-4, 1e-300, 5e-324}) {  // exp(log(1e-5)) is below 1e-5
        const Values values = candidate_values(hpo::FloatDistribution{low, 1, true, {}}, 5);
        CHECK(values.front() == low);
        CHECK(values.back() == 1);
    }
    const Values narrow = candidate_values(hpo::FloatDistribution{1e-5, std::nextafter(1e-5, 1), true, {}}, 5);
    CHECK(narrow == Values{1e-5, std::nextafter(1e-5, 1)});
    for (const double each : candidate_values(hpo::FloatDistribution{1e-200, 1e200, true, {}}, 5)) CHECK(std::isfinite(each));
    CHECK(candidate_values(hpo::CategoricalDistribution{{"x", "y", "z", "w"}}, 2) == Values{0, 1, 2, 3});
    CHECK(candidate_values(hpo::FloatDistribution{0, 1, false, {}}, std::nullopt).empty());
    CHECK(candidate_values(hpo::IntDistribution{std::numeric_limits<std::int32_t>::min(), 1000, false, 1}, std::nullopt).empty());
}

TEST_CASE("a grid tries each point once, in an order that the seed chooses, and is then exhausted") {
    std::vector<std::vector<std::string>> orders;
    for (const std::uint64_t seed : {1U, 1U, 2U}) {
        Grid sampler;
        std::vector<hpo::Trial> trials;
        orders.push_back(tried(sampler, two_by_three, trials, seed));
        CHECK(std::set(orders.back().begin(), orders.back().end()).size() == 6);
        CHECK(orders.back().size() == 6);
        const hpo::History history{"study", {}, trials, {}};
        CHECK_THROWS_AS(hpo::suggest_params(sampler, two_by_three, {.number = 6, .history = history}, hpo::Seed{seed}),
                        hpo::SpaceExhausted);
    }
    CHECK(orders[0] == orders[1]);
    CHECK(orders[0] != orders[2]);
}

TEST_CASE("a new sampler goes on where the study's trials end") {
    Grid sampler;
    std::vector<hpo::Trial> trials;
    const auto all = tried(sampler, two_by_three, trials);
    for (std::size_t first = 0; first <= trials.size(); ++first) {
        std::vector<hpo::Trial> begun(trials.begin(), trials.begin() + static_cast<std::ptrdiff_t>(first));
        Grid other;
        CHECK(tried(other, two_by_three, begun) == std::vector(all.begin() + static_cast<std::ptrdiff_t>(first), all.end()));
    }
}

TEST_CASE("a grid follows each branch of a conditional space") {
    const auto space = [](hpo::SpaceTrial& trial) {
        if (trial.suggest_categorical("optimizer", {"sgd", "adam"}) == hpo::Value{"sgd"}) trial.suggest_int("momentum", 0, 2);
        else if (trial.suggest_categorical("amsgrad", {false, true}) == hpo::Value{true}) trial.suggest_int("warmup", 0, 3);
    };
    Grid sampler;
    std::vector<hpo::Trial> trials;
    const auto all = tried(sampler, space, trials);
    CHECK(all.size() == 3 + 1 + 4);
    CHECK(std::set(all.begin(), all.end()).size() == 8);
}

TEST_CASE("what a space refuses or narrows away is left out, and the rest is tried once") {
    const auto refuses = [](hpo::SpaceTrial& trial) {
        const auto a = trial.suggest_int("a", 0, 4);
        const auto b = trial.suggest_int("b", 0, 4);
        trial.require((a + b) % 2 == 0, "the sum is odd");
    };
    const auto narrows = [](hpo::SpaceTrial& trial) {
        const auto a = trial.suggest_int("a", 0, 4);
        trial.suggest_int("b", 0, 4, {.max = static_cast<double>(a)});
    };
    for (const auto& [space, count] : std::vector<std::pair<hpo::Space, std::size_t>>{{refuses, 13}, {narrows, 15}}) {
        Grid sampler;
        std::vector<hpo::Trial> trials;
        std::set<std::string> all;
        while (true) {
            const hpo::History history{"study", {}, trials, {}};
            const hpo::TrialContext context{.number = std::ssize(trials), .history = history};
            hpo::ParamSet params;
            try {
                params = hpo::suggest_params(sampler, space, context, hpo::Seed{1});
            } catch (const hpo::SpaceExhausted&) {
                break;
            }
            all.insert(std::to_string(*params.whole_number("a")) + " " + std::to_string(*params.whole_number("b")));
            trials.emplace_back();
            trials.back().number = context.number;
            trials.back().params = std::move(params);
            trials.back().state = hpo::TrialState::complete;
            REQUIRE(trials.size() < 100);
        }
        CHECK(all.size() == count);
        CHECK(trials.size() == count);
    }
}

TEST_CASE("running trials, refused proposals and enqueued ones count as tried, another number does not") {
    Grid sampler;
    std::vector<hpo::Trial> trials;
    const auto order = tried(sampler, two_by_three, trials);
    std::vector<hpo::Trial> some(trials.begin(), trials.begin() + 3);
    some[1].state = hpo::TrialState::running;
    std::vector<hpo::Rejection> rejections{{trials[3].params, {}, 0.5, "too large", {}}};
    some[2].params = {};
    some[2].params.set("layers", hpo::IntDistribution{1, 2, false, 1}, 2);
    some[2].params.set("kind", hpo::CategoricalDistribution{{"a", "b", "c"}}, 1);
    const hpo::History history{"study", {}, some, rejections};
    Grid other;
    const auto text = [](const hpo::ParamSet& params) { return hpo::json_text(params); };
    std::set<std::string> known{text(trials[3].params)};
    for (const auto& trial : some) known.insert(text(trial.params));
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const auto drawn = hpo::suggest_params(other, two_by_three, {.number = 3, .history = history}, hpo::Seed{seed});
        CHECK_FALSE(known.contains(text(drawn)));
    }
    some[1].state = hpo::TrialState::complete;  // what ran has ended
    const hpo::History later{"study", {}, some, rejections};
    CHECK_FALSE(other.all_tried({.number = 3, .history = later}));
}

TEST_CASE("what a person fixed has one value, a range that has grown has new points, and another order of asking hides none") {
    const auto all_of = [](Grid& sampler, const hpo::Space& space, std::vector<hpo::Trial> trials, const hpo::FixedValues& fixed = {}) {
        std::set<std::string> found;
        for (;;) {
            const hpo::History history{"study", {}, trials, {}};
            const hpo::TrialContext context{.number = std::ssize(trials), .history = history};
            hpo::Trial trial;
            try {
                trial.params = hpo::suggest_params(sampler, space, context, hpo::Seed{1}, fixed);
            } catch (const hpo::SpaceExhausted&) {
                return found;
            }
            trial.number = context.number;
            trial.state = hpo::TrialState::complete;
            CHECK(found.insert(hpo::json_text(trial.params)).second);
            trials.push_back(std::move(trial));
            REQUIRE(trials.size() < 100);
        }
    };
    const auto wide = [](hpo::SpaceTrial& trial) {
        trial.suggest_int("layers", 1, 4);
        trial.suggest_categorical("kind", {"a", "b", "c"});
    };
    const auto turned = [](hpo::SpaceTrial& trial) {
        trial.suggest_categorical("kind", {"a", "b", "c"});
        trial.suggest_int("layers", 1, 2);
    };
    for (const std::string name : {"layers", "kind"}) {
        Grid sampler;
        const hpo::Value value = name == "kind" ? hpo::Value{"b"} : hpo::Value{std::int64_t{2}};
        CHECK(all_of(sampler, two_by_three, {}, {{name, value}}).size() == (name == "kind" ? 2 : 3));
        CHECK(all_of(sampler, two_by_three, {}).size() == 6);
    }
    Grid sampler;
    std::vector<hpo::Trial> trials;
    (void)tried(sampler, two_by_three, trials);
    CHECK(all_of(sampler, wide, trials).size() == 6);
    CHECK(all_of(sampler, turned, trials).size() == 6);  // all of them again, and none of them left out
}

TEST_CASE("a branch that ends before what was expected of it is a configuration like others") {
    Grid sampler;
    std::vector<hpo::Trial> trials;
    const hpo::CategoricalDistribution kinds{{"a", "b"}};
    const hpo::ParamSet nothing;
    const hpo::Narrowing everywhere;
    for (const double kind : {0.0, 1.0}) {
        hpo::Trial& trial = trials.emplace_back();
        trial.number = std::ssize(trials) - 1;
        trial.state = hpo::TrialState::complete;
        trial.params.set("kind", kinds, kind);
        if (kind == 0) trial.params.set("x", hpo::IntDistribution{1, 1, false, 1}, 1);
        // What the study expects of the next trial: x, whatever the kind is.
        const hpo::History history{"study", {}, trials, {}};
        const hpo::TrialContext expected{.number = 9, .history = history, .asker = hpo::Asker::expectation};
        (void)hpo::suggest_params(
            sampler,
            [&](hpo::SpaceTrial& next) {
                next.suggest_categorical("kind", {"a", "b"});
                next.suggest_int("x", 1, 1);
            },
            expected, hpo::Seed{1});
    }
    const hpo::History history{"study", {}, trials, {}};
    CHECK(sampler.all_tried({.number = 2, .history = history, .asker = hpo::Asker::program}));
}

TEST_CASE("a program that runs already gets a tried value rather than none") {
    Grid sampler;
    std::vector<hpo::Trial> trials;
    (void)tried(sampler, two_by_three, trials);
    const hpo::History history{"study", {}, trials, {}};
    const hpo::TrialContext context{.number = 6, .history = history, .asker = hpo::Asker::program};
    CHECK(sampler.all_tried(context));
    std::optional<hpo::ParamSet> joint;
    const double value = hpo::suggest_one(sampler, context, hpo::Seed{1}, {}, joint, "layers", hpo::IntDistribution{1, 2, false, 1}, {});
    CHECK((value == 1 || value == 2));
}

TEST_CASE("a grid has two points at least") { CHECK_THROWS_WITH(Grid{{.points = 1}}, Catch::Contains("2 or more")); }
