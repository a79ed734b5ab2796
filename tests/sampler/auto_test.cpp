// SPDX-License-Identifier: MIT
#include "hpo/sampler/auto.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "hpo/sampler/suggest.hpp"
#include "support/catch.hpp"

using hpo::sampler::Auto;
using hpo::sampler::Cmaes;
using hpo::sampler::Gp;
using hpo::sampler::Tpe;

namespace {

class AutoStudy {
public:
    AutoStudy(hpo::Space space, std::function<double(const hpo::ParamSet&)> value, std::size_t objectives = 1)
        : directions(objectives, hpo::Direction::minimize), space_{std::move(space)}, value_{std::move(value)} {}

    template <hpo::Sampler S>
    [[nodiscard]] hpo::ParamSet ask(S& sampler) const {
        const hpo::History history{"study", directions, trials, rejections};
        return hpo::suggest_params(sampler, space_, {.number = std::ssize(trials) * step, .history = history, .fixed = fixed}, hpo::Seed{1},
                                   fixed ? *fixed : hpo::FixedValues{});
    }
    template <hpo::Sampler S>
    void run(S& sampler, std::size_t count) {
        while (trials.size() < count) {
            hpo::ParamSet params = ask(sampler);
            hpo::Trial& trial = trials.emplace_back();
            trial.number = (std::ssize(trials) - 1) * step;
            trial.state = hpo::TrialState::complete;
            trial.values.assign(directions.size(), value_(params));
            for (std::size_t m = 1; m < directions.size(); ++m) trial.values[m] *= -static_cast<double>(m);
            trial.params = std::move(params);
            trial.completed = hpo::Time{std::chrono::microseconds{trial.number}};
        }
    }
    /// Which of the three a new one of each would have drawn as this one does.
    [[nodiscard]] std::string leader(Auto& sampler) const {
        const hpo::ParamSet drawn = ask(sampler);
        Gp gp{{.repeat = false}};
        Tpe tpe;
        if (drawn == ask(gp)) return "gp";
        if (drawn == ask(tpe)) return "tpe";
        if (directions.size() > 1) return "another";
        Cmaes cmaes;
        return drawn == ask(cmaes) ? "cmaes" : "another";
    }

    std::vector<hpo::Direction> directions;
    std::vector<hpo::Trial> trials;
    std::vector<hpo::Rejection> rejections;
    const hpo::FixedValues* fixed = nullptr;
    std::int64_t step = 1;  ///< from one number to the next, where each configuration has several trials

private:
    hpo::Space space_;
    std::function<double(const hpo::ParamSet&)> value_;
};

void numbers(hpo::SpaceTrial& trial) {
    trial.suggest_float("x", -5, 5);
    trial.suggest_int("n", 1, 100);
}
void choices(hpo::SpaceTrial& trial) {
    trial.suggest_float("x", -5, 5);
    trial.suggest_categorical("kind", {hpo::Value{"a"}, hpo::Value{"b"}});
}
double square_of_x(const hpo::ParamSet& params) { return std::pow(*params.number("x") - 1, 2); }

std::vector<std::string> leaders(AutoStudy& study, Auto& sampler, std::size_t from) {
    std::vector<std::string> found;
    for (std::size_t i = 0; i < 3; ++i) {
        study.run(sampler, from + i);
        found.push_back(study.leader(sampler));
    }
    return found;
}
using Leaders = std::vector<std::string>;

}  // namespace

TEST_CASE("auto has gp and a quadratic for numbers, then cmaes and tpe") {
    AutoStudy study{numbers, square_of_x};
    Auto sampler{{.gp_trials = 30}};
    CHECK(leaders(study, sampler, 15) == Leaders{"another", "gp", "another"});
    CHECK(leaders(study, sampler, 18) == Leaders{"gp", "another", "gp"});
    CHECK(leaders(study, sampler, 30) == Leaders{"cmaes", "cmaes", "tpe"});
}

TEST_CASE("auto has gp and cmaes for numbers where a trial or a proposal was infeasible, or values are noise") {
    for (const bool is_refused : {false, true}) {
        AutoStudy study{numbers, square_of_x};
        Auto sampler;
        study.run(sampler, 15);
        if (is_refused) study.rejections.push_back({.params = study.trials.front().params, .violation = 0.5});
        else study.trials[3].constraints["memory"] = 0.5;
        Auto fresh;
        CHECK(leaders(study, fresh, 15) == Leaders{"gp", "gp", "cmaes"});
    }
    hpo::Rng rng{9};
    AutoStudy noisy{numbers, [&](const hpo::ParamSet&) { return rng.uniform(); }};
    Auto sampler;
    CHECK(leaders(noisy, sampler, 15) == Leaders{"gp", "gp", "cmaes"});
}

TEST_CASE("auto has gp and cmaes for numbers if some are fixed, if their ranges change, and before gp has learned noise") {
    AutoStudy study{numbers, square_of_x};
    Auto sampler;
    study.run(sampler, 17);
    const hpo::FixedValues fixed{{"n", hpo::Value{std::int64_t{3}}}};
    study.fixed = &fixed;
    CHECK(study.leader(sampler) == "cmaes");
    study.fixed = nullptr;
    AutoStudy early{numbers, square_of_x};
    Auto other;
    CHECK(leaders(early, other, 7) == Leaders{"gp", "cmaes", "gp"});
    int asked = 0;
    AutoStudy changing{[&](hpo::SpaceTrial& trial) {
                           trial.suggest_float("x", -5, ++asked < 10 ? 5 : 6);
                           trial.suggest_int("n", 1, 1000);
                       },
                       square_of_x};
    Auto third;
    CHECK(leaders(changing, third, 15) == Leaders{"gp", "gp", "cmaes"});
}

TEST_CASE("auto repeats no configuration of numbers on a grid beside others whose best value is at a bound") {
    AutoStudy study{[](hpo::SpaceTrial& trial) {
                        trial.suggest_float("x", 0, 1);
                        trial.suggest_int("k", 1, 10);
                    },
                    [](const hpo::ParamSet& params) { return *params.number("x") + std::pow(*params.number("k") - 4, 2); }};
    Auto sampler;
    study.run(sampler, 60);
    std::set<std::string> steps;
    std::size_t repeated = 0;
    for (const hpo::Trial& trial : study.trials) {
        const bool is_new = steps.insert(hpo::json_text(trial.params)).second;
        if (trial.number % 2 == 1 && !is_new) ++repeated;  // those of the quadratic
    }
    CHECK(repeated == 0);
}

TEST_CASE("auto goes on alike whatever the order in which trials with equal values have ended") {
    AutoStudy study{numbers, [](const hpo::ParamSet& params) { return std::floor(std::fabs(*params.number("x"))); }};
    Auto live;
    study.run(live, 15);
    for (std::int64_t i = 0; i < 2; ++i) {  // two that run, of which the later one ends first
        hpo::Trial& trial = study.trials.emplace_back();
        trial.number = 15 + i;
        trial.state = hpo::TrialState::running;
        trial.params = study.trials[static_cast<std::size_t>(3 + i)].params;
    }
    (void)study.ask(live);
    for (const std::size_t ending : {16U, 15U}) {
        study.trials[ending].state = hpo::TrialState::complete;
        study.trials[ending].values = {0};
        study.trials[ending].completed = hpo::Time{std::chrono::microseconds{100 - ending}};
        (void)study.ask(live);
    }
    Auto fresh;
    CHECK(study.ask(live) == study.ask(fresh));
}

TEST_CASE("auto comes far nearer to the bottom of a smooth valley than gp alone, whatever the direction") {
    const auto valley = [](const hpo::ParamSet& params) {
        const double x = *params.number("x"), y = *params.number("y"), z = *params.number("z");
        return 100 * std::pow(x + y - z, 2) + std::pow(x - 1, 2) + std::pow(z + 1, 2);
    };
    const hpo::Space space = [](hpo::SpaceTrial& trial) {
        for (const std::string name : {"x", "y", "z"}) trial.suggest_float(name, -5, 5);
    };
    const auto nearest = [](const AutoStudy& study) {
        double least = HUGE_VAL;
        for (const hpo::Trial& trial : study.trials) least = std::min(least, std::fabs(trial.values[0]));
        return least;
    };
    AutoStudy with_auto{space, valley}, with_gp{space, valley},
        upside_down{space, [&](const hpo::ParamSet&params) { return -valley(params); }};
    upside_down.directions = {hpo::Direction::maximize};
    Auto sampler, other;
    Gp gp;
    with_auto.run(sampler, 80);
    with_gp.run(gp, 80);
    upside_down.run(other, 80);
    CHECK(nearest(with_auto) < 0.01);
    CHECK(nearest(upside_down) == nearest(with_auto));
    CHECK(nearest(with_gp) > 100 * nearest(with_auto));
}

TEST_CASE("auto counts configurations, and not numbers of trials, where each has several seeds") {
    AutoStudy study{numbers, square_of_x};
    study.step = 3;
    Auto sampler{{.gp_trials = 30}};
    CHECK(leaders(study, sampler, 15) == Leaders{"another", "gp", "another"});
}

TEST_CASE("auto has gp where each parameter has few values, then tpe") {
    AutoStudy study{[](hpo::SpaceTrial& trial) {
                        trial.suggest_int("x", 1, 60);
                        trial.suggest_int("y", 1, 60);
                    },
                    square_of_x};
    Auto sampler{{.gp_trials = 30}};
    CHECK(leaders(study, sampler, 15) == Leaders{"gp", "gp", "gp"});
    CHECK(leaders(study, sampler, 30) == Leaders{"tpe", "tpe", "tpe"});
}

TEST_CASE("auto has gp and tpe for choices and branches, then tpe") {
    AutoStudy study{choices, square_of_x};
    Auto sampler{{.gp_trials = 30}};
    CHECK(leaders(study, sampler, 15) == Leaders{"gp", "gp", "tpe"});
    CHECK(leaders(study, sampler, 30) == Leaders{"tpe", "tpe", "tpe"});
    AutoStudy branches{[](hpo::SpaceTrial& trial) {
                           if (trial.suggest_int("x", 0, 5) > 2) trial.suggest_float("rate", 0, 1);
                       },
                       square_of_x};
    Auto other;
    CHECK(leaders(branches, other, 15) == Leaders{"gp", "gp", "tpe"});
}

TEST_CASE("auto has gp for two and three objectives, then tpe, and tpe for more") {
    for (const std::size_t objectives : {2U, 3U, 4U}) {
        AutoStudy study{numbers, square_of_x, objectives};
        Auto sampler{{.gp_trials = 20}};
        study.run(sampler, 14);
        CHECK(study.leader(sampler) == (objectives < 4 ? "gp" : "tpe"));
        study.run(sampler, 20);
        CHECK(study.leader(sampler) == "tpe");
    }
}

TEST_CASE("auto has tpe while many trials are pruned") {
    AutoStudy study{numbers, square_of_x};
    Auto sampler;
    study.run(sampler, 15);
    for (std::size_t i = 0; i < 4; ++i) study.trials[3 * i].state = hpo::TrialState::pruned;
    Auto fresh;
    CHECK(study.leader(fresh) == "tpe");
    study.run(fresh, 18);
    Auto other;
    CHECK(study.leader(other) == "gp");  // 4 of 18
}

TEST_CASE("auto goes on with a study that it has not seen") {
    AutoStudy study{numbers, square_of_x};
    Auto sampler{{.gp_trials = 20}};
    for (const std::size_t count : {12U, 19U, 25U}) {
        study.run(sampler, count);
        Auto fresh{{.gp_trials = 20}};
        CHECK(study.ask(fresh) == study.ask(sampler));
    }
}

TEST_CASE("auto proposes each configuration of a small space once it knows the space") {
    AutoStudy study{[](hpo::SpaceTrial& trial) {
                        trial.suggest_categorical("kind", {hpo::Value{"a"}, hpo::Value{"b"}, hpo::Value{"c"}});
                        trial.suggest_int("x", 0, 9);
                    },
                    square_of_x};
    Auto sampler;
    study.run(sampler, 15);  // the first ones are by chance
    std::set<std::string> before, after;
    for (const hpo::Trial& trial : study.trials) before.insert(hpo::json_text(trial.params));
    const std::size_t left = 30 - before.size();
    study.run(sampler, 15 + left);
    for (const hpo::Trial& trial : study.trials) after.insert(hpo::json_text(trial.params));
    CHECK(after.size() == 30);
    study.run(sampler, 15 + left + 3);  // nothing is left, and it goes on
}

TEST_CASE("auto explains what it does") {
    const auto explained = [](const hpo::Space& space, std::size_t objectives) {
        AutoStudy study{space, square_of_x};
        Auto sampler;
        const std::vector<hpo::ParamSet> trials{study.ask(sampler)};
        return sampler.explanation(objectives, trials);
    };
    const std::string pruned = "; tpe alone while more than a quarter of the trials is pruned";
    const std::string from = "; from 250 complete trials on ";
    CHECK(
        explained(numbers, 1) ==
        "gp, and for each second trial the least of a quadratic around the best one, because all parameters are numbers; gp, and cmaes for "
        "each third, while values are noisy or once trials were infeasible" +
            from + "cmaes, and tpe for each third" + pruned);
    CHECK(explained(choices, 1) == "gp, and tpe for each third trial, because there are choices or branches" + from + "tpe" + pruned);
    CHECK(explained([](hpo::SpaceTrial& trial) { trial.suggest_int("x", 0, 9); }, 1) ==
          "gp, because each parameter has few values" + from + "tpe" + pruned);
    CHECK(explained(numbers, 2) == "gp, because there are few objectives" + from + "tpe");
    CHECK(explained(numbers, 4) == "tpe, because there are more than three objectives");
}

TEST_CASE("auto refuses a negative number of trials") {
    CHECK_THROWS_WITH(Auto({.gp_trials = -1}), "gp_trials: got -1; expected 0 or more");
}
