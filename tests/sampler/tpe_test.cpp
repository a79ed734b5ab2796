// SPDX-License-Identifier: MIT
#include "hpo/sampler/tpe.hpp"

#include <array>

#include "hpo/sampler/suggest.hpp"
#include "support/catch.hpp"

using hpo::Direction;
using hpo::SpaceTrial;
using hpo::Trial;
using hpo::TrialState;
using hpo::sampler::Tpe;

namespace {

constexpr std::array minimize{Direction::minimize};
const hpo::FloatDistribution unit{0, 1, false, {}};

struct Past {
    std::vector<Trial> trials;
    std::vector<hpo::Rejection> rejections;

    Trial& add(double x, double value, TrialState state = TrialState::complete) {
        Trial& trial = trials.emplace_back();
        trial.number = static_cast<std::int64_t>(trials.size()) - 1;
        trial.state = state;
        if (state == TrialState::complete) trial.values = {value};
        trial.params.set("x", unit, x);
        return trial;
    }
    [[nodiscard]] hpo::History history() const { return {"", minimize, trials, rejections}; }
};

const hpo::Space x_in_unit = [](SpaceTrial& trial) { trial.suggest_float("x", 0, 1); };

/// How often `space` gives what `holds` asks for, over 200 seeds.
double share(const Past& past, const hpo::Space& space, const std::function<bool(const hpo::ParamSet&)>& holds) {
    int count = 0;
    const hpo::History history = past.history();
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Tpe tpe;
        count += holds(hpo::suggest_params(tpe, space, {static_cast<std::int64_t>(past.trials.size()), history}, hpo::Seed{seed})) ? 1 : 0;
    }
    return count / 200.0;
}

/// 40 trials over [0, 1] whose values are least at `best`.
Past valley(double best) {
    Past past;
    for (int i = 0; i < 40; ++i) past.add((i * 7 % 40 + 0.5) / 40, std::fabs((i * 7 % 40 + 0.5) / 40 - best));
    return past;
}

}  // namespace

TEST_CASE("tpe draws where the good trials are") {
    for (const double best : {0.1, 0.5, 0.9}) {
        CHECK(share(valley(best), x_in_unit, [&](const auto& params) { return std::fabs(*params.number("x") - best) < 0.1; }) > 0.9);
    }
}

TEST_CASE("the first trials are drawn uniformly, and failed ones do not count among them") {
    Past past;
    for (int i = 0; i < 9; ++i) past.add(0.5, 0);
    for (int i = 0; i < 9; ++i) past.add(0.5, 0, TrialState::fail);
    Tpe tpe;
    hpo::Rng rng{1};
    CHECK(tpe.suggest_joint({99, past.history()}, rng).empty());
    CHECK(share(past, x_in_unit, [](const auto& params) { return *params.number("x") < 0.25; }) == Approx(0.25).margin(0.1));
    past.add(0.5, 0, TrialState::pruned);
    CHECK_FALSE(tpe.suggest_joint({99, past.history()}, rng).empty());
    Tpe patient{{.startup_trials = 11}};
    CHECK(patient.suggest_joint({99, past.history()}, rng).empty());
}

TEST_CASE("rejected proposals and infeasible trials repel") {
    const Past open = valley(0.5);
    const auto large = [](const hpo::ParamSet& params) { return *params.number("x") > 0.5; };
    const double before = share(open, x_in_unit, large);
    Past rejected = open;
    for (int i = 0; i < 20; ++i) {
        hpo::Rejection& rejection = rejected.rejections.emplace_back();
        rejection.params.set("x", unit, 0.5 + (i + 0.5) / 40);
        rejection.violation = 1;
    }
    CHECK(share(rejected, x_in_unit, large) < before - 0.15);
    Past infeasible = open;
    for (int i = 0; i < 20; ++i) infeasible.add(0.5 + (i + 0.5) / 40, 0, TrialState::pruned).constraints["memory"] = 1;
    CHECK(share(infeasible, x_in_unit, large) < before - 0.15);
}

TEST_CASE("running trials repel") {
    Past past = valley(0.5);
    const auto near = [](const hpo::ParamSet& params) { return std::fabs(*params.number("x") - 0.5) < 0.02; };
    const double before = share(past, x_in_unit, near);
    for (int i = 0; i < 12; ++i) past.add(0.5, 0, TrialState::running);
    CHECK(share(past, x_in_unit, near) < before - 0.1);
}

TEST_CASE("a narrowed parameter is drawn again given the others") {
    // Good trials have x = y; without the condition on x, y would be drawn from all over the diagonal.
    Past past;
    for (int i = 0; i < 10; ++i) {
        for (int j = 0; j < 10; ++j) {
            Trial& trial = past.add((i + 0.5) / 10, std::abs(i - j));
            trial.params.set("y", unit, (j + 0.5) / 10);
        }
    }
    const auto y_follows = [&](double x) {
        const hpo::Space space = [x](SpaceTrial& trial) {
            trial.suggest_float("x", 0, 1, {.min = x, .max = x});
            trial.suggest_float("y", 0, 1, {.min = 0.02});
        };
        int count = 0;
        const hpo::History history = past.history();
        for (std::uint64_t seed = 0; seed < 100; ++seed) {
            Tpe tpe;
            const hpo::ParamSet params = hpo::suggest_params(tpe, space, {100, history}, hpo::Seed{seed}, {{"x", x}});
            CHECK(*params.number("x") == x);
            count += std::fabs(*params.number("y") - x) < 0.2 ? 1 : 0;
        }
        return count;
    };
    CHECK(y_follows(0.15) > 80);
    CHECK(y_follows(0.85) > 80);
}

TEST_CASE("one model learns across the branches of a conditional space") {
    // The batch is shared, "beta" exists for adam only; adam with beta near 0.8 and a small batch is best.
    const hpo::Space space = [](SpaceTrial& trial) {
        const hpo::Value optimizer = trial.suggest_categorical("optimizer", {hpo::Value{"adam"}, hpo::Value{"sgd"}});
        trial.suggest_float("batch", 0, 1);
        if (optimizer == hpo::Value{"adam"}) trial.suggest_float("beta", 0, 1);
    };
    const auto loss = [](const hpo::ParamSet& params) {
        const auto beta = params.number("beta");
        return *params.number("batch") + (beta ? std::fabs(*beta - 0.8) : 0.5);
    };
    double mean = 0;  // over eight studies: how often the next trial is good. At random it is 0.03
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        Past past;
        Tpe tpe;
        for (int i = 0; i < 60; ++i) {
            const hpo::History history = past.history();
            Trial trial;
            trial.number = i;
            trial.params = hpo::suggest_params(tpe, space, {i, history}, hpo::Seed{seed});
            trial.state = TrialState::complete;
            trial.values = {loss(trial.params)};
            CHECK(trial.params.size() == (trial.params.find("beta") ? 3 : 2));
            past.trials.push_back(std::move(trial));
        }
        mean += share(past, space, [&](const hpo::ParamSet& params) { return params.find("beta") && loss(params) < 0.3; }) / 8;
    }
    CHECK(mean > 0.4);
}

TEST_CASE("a distribution that has changed is drawn from as it is now") {
    const Past past = valley(0.2);
    CHECK(share(
              past, [](SpaceTrial& trial) { trial.suggest_float("x", 0.5, 3); },
              [](const hpo::ParamSet& params) { return *params.number("x") >= 0.5 && *params.number("x") <= 3; }) == 1);
    CHECK(share(
              past, [](SpaceTrial& trial) { trial.suggest_int("x", 3, 9); },
              [](const hpo::ParamSet& params) { return *params.number("x") >= 3 && *params.number("x") <= 9; }) == 1);
}

TEST_CASE("trials of two objectives gather along the front") {
    const std::array two{Direction::minimize, Direction::maximize};
    Tpe tpe{{.multivariate = GENERATE("auto", "true")}};
    std::vector<hpo::Trial> trials;
    for (std::int64_t number = 0; number < 120; ++number) {
        const hpo::History history{"", two, trials, {}};
        hpo::Trial trial;
        trial.number = number;
        trial.params = hpo::suggest_params(
            tpe, [](SpaceTrial& asked) { asked.suggest_float("x", -10, 10), asked.suggest_float("y", -10, 10); },
            {.number = number, .history = history}, hpo::Seed{1});
        const double x = *trial.params.number("x"), y = *trial.params.number("y");
        trial.state = hpo::TrialState::complete;
        trial.values = {x * x + y * y, -(x - 2) * (x - 2) - y * y};  // the front is 0 <= x <= 2 with y = 0
        trials.push_back(std::move(trial));
    }
    const auto near = std::count_if(trials.begin() + 60, trials.end(), [](const hpo::Trial& trial) {
        const double x = *trial.params.number("x"), y = *trial.params.number("y");
        return x > -2 && x < 4 && std::fabs(y) < 2;
    });
    CHECK(near >= 30);  // of 60; by chance 4 would
}

TEST_CASE("a group has a density of its own: what differs in another group changes no draw of it") {
    const hpo::Space branches = [](SpaceTrial& trial) {
        trial.suggest_float("x", 0, 1);
        if (std::get<std::string>(trial.suggest_categorical("kind", {std::string{"a"}, std::string{"b"}})) == "a")
            trial.suggest_float("of_a", 0, 1);
    };
    /// 40 trials with branches in turn; those of branch a have `of_a` where `best_a` is best.
    const auto past_of = [](double best_a) {
        Past past = valley(0.5);
        for (std::size_t i = 0; i < past.trials.size(); ++i) {
            past.trials[i].params.set("kind", hpo::CategoricalDistribution{{std::string{"a"}, std::string{"b"}}},
                                      static_cast<double>(i % 2));
            if (i % 2 == 0) past.trials[i].params.set("of_a", unit, std::clamp(best_a + past.trials[i].values[0] - 0.2, 0.0, 1.0));
        }
        return past;
    };
    const auto drawn = [&](const Past& past, bool group, std::uint64_t seed) {
        Tpe tpe{{.group = group}};
        const hpo::History history = past.history();
        return hpo::suggest_params(tpe, branches, {static_cast<std::int64_t>(past.trials.size()), history}, hpo::Seed{seed});
    };
    const Past one = past_of(0.3), other = past_of(0.7);
    int equal = 0, equal_jointly = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        equal += drawn(one, true, seed).number("x") == drawn(other, true, seed).number("x") ? 1 : 0;
        equal_jointly += drawn(one, false, seed).number("x") == drawn(other, false, seed).number("x") ? 1 : 0;
    }
    CHECK(equal == 20);
    CHECK(equal_jointly < 20);
    // Without branches there is one group, and nothing changes.
    const Past flat = valley(0.3);
    const hpo::History history = flat.history();
    Tpe grouped{{.group = true}}, plain;
    CHECK(hpo::suggest_params(grouped, x_in_unit, {40, history}, hpo::Seed{5}) ==
          hpo::suggest_params(plain, x_in_unit, {40, history}, hpo::Seed{5}));
}

TEST_CASE("options out of range are refused") {
    CHECK_THROWS_WITH((Tpe{{.startup_trials = -1}}), "startup_trials: got -1; expected 0 or more");
    CHECK_THROWS_WITH((Tpe{{.kernels = 1}}), "kernels: got 1; expected 0, or 2 or more");
    CHECK_THROWS_WITH((Tpe{{.multivariate = "yes"}}), "multivariate: got yes; expected auto, true or false");
    CHECK_THROWS_WITH((Tpe{{.multivariate = "false", .group = true}}),
                      "group: got true with multivariate=false; expected one of the two, because a group has one density");
    CHECK_THROWS_WITH((Tpe{{.ei_candidates = 0}}), "ei_candidates: got 0; expected 1 or more");
    CHECK_THROWS_WITH((Tpe{{.ei_candidates = 1'000'000}}), "ei_candidates: got 1000000; expected at most 100000");
    CHECK_THROWS_WITH((Tpe{{.gamma = 0}}), "gamma: got 0; expected above 0, at most 1");
    CHECK_THROWS_WITH((Tpe{{.prior_weight = std::nan("")}}), Catch::Contains("prior_weight: got"));
}
