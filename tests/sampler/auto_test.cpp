// SPDX-License-Identifier: MIT
#include "hpo/sampler/auto.hpp"

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
        : space_{std::move(space)}, value_{std::move(value)}, directions_(objectives, hpo::Direction::minimize) {}

    template <hpo::Sampler S>
    [[nodiscard]] hpo::ParamSet ask(S& sampler) const {
        const hpo::History history{"study", directions_, trials, {}};
        return hpo::suggest_params(sampler, space_, {.number = std::ssize(trials) * step, .history = history}, hpo::Seed{1});
    }
    void run(Auto& sampler, std::size_t count) {
        while (trials.size() < count) {
            hpo::ParamSet params = ask(sampler);
            hpo::Trial& trial = trials.emplace_back();
            trial.number = (std::ssize(trials) - 1) * step;
            trial.state = hpo::TrialState::complete;
            trial.values.assign(directions_.size(), value_(params));
            for (std::size_t m = 1; m < directions_.size(); ++m) trial.values[m] *= -static_cast<double>(m);
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
        if (directions_.size() > 1) return "another";
        Cmaes cmaes;
        return drawn == ask(cmaes) ? "cmaes" : "another";
    }

    std::vector<hpo::Trial> trials;
    std::int64_t step = 1;  ///< from one number to the next, where each configuration has several trials

private:
    hpo::Space space_;
    std::function<double(const hpo::ParamSet&)> value_;
    std::vector<hpo::Direction> directions_;
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

TEST_CASE("auto has gp and cmaes for numbers, then cmaes and tpe") {
    AutoStudy study{numbers, square_of_x};
    Auto sampler{{.gp_trials = 30}};
    CHECK(leaders(study, sampler, 15) == Leaders{"gp", "gp", "cmaes"});
    CHECK(leaders(study, sampler, 30) == Leaders{"cmaes", "cmaes", "tpe"});
}

TEST_CASE("auto counts configurations, and not numbers of trials, where each has several seeds") {
    AutoStudy study{numbers, square_of_x};
    study.step = 3;
    Auto sampler{{.gp_trials = 30}};
    CHECK(leaders(study, sampler, 15) == Leaders{"gp", "gp", "cmaes"});
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
    CHECK(explained(numbers, 1) ==
          "gp, and cmaes for each third trial, because all parameters are numbers" + from + "cmaes, and tpe for each third" + pruned);
    CHECK(explained(choices, 1) == "gp, and tpe for each third trial, because there are choices or branches" + from + "tpe" + pruned);
    CHECK(explained([](hpo::SpaceTrial& trial) { trial.suggest_int("x", 0, 9); }, 1) ==
          "gp, because each parameter has few values" + from + "tpe" + pruned);
    CHECK(explained(numbers, 2) == "gp, because there are few objectives" + from + "tpe");
    CHECK(explained(numbers, 4) == "tpe, because there are more than three objectives");
}

TEST_CASE("auto refuses a negative number of trials") {
    CHECK_THROWS_WITH(Auto({.gp_trials = -1}), "gp_trials: got -1; expected 0 or more");
}
