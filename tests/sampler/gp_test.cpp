// SPDX-License-Identifier: MIT
#include "hpo/sampler/gp.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "hpo/sampler/suggest.hpp"
#include "support/catch.hpp"

using hpo::sampler::Gp;

namespace {

constexpr std::array gp_minimised{hpo::Direction::minimize};

struct GpStudy {
    std::vector<hpo::Direction> directions{hpo::Direction::minimize};
    std::vector<hpo::Trial> trials{};
    std::vector<hpo::Rejection> rejections{};

    [[nodiscard]] hpo::History history() const { return {"study", directions, trials, rejections}; }
    [[nodiscard]] hpo::ParamSet ask(Gp& sampler, const hpo::Space& space, const hpo::FixedValues& fixed = {}) const {
        const hpo::History seen = history();
        return hpo::suggest_params(sampler, space, {.number = std::ssize(trials), .history = seen}, hpo::Seed{1}, fixed,
                                   static_cast<int>(rejections.size()));
    }
    hpo::Trial& add(hpo::ParamSet params, hpo::TrialState state = hpo::TrialState::complete) {
        hpo::Trial& trial = trials.emplace_back();
        trial.number = std::ssize(trials) - 1;
        trial.params = std::move(params);
        trial.state = state;
        if (hpo::is_finished(state)) trial.completed = hpo::Time{std::chrono::microseconds{trial.number}};
        return trial;
    }
    void run(Gp& sampler, const hpo::Space& space, const std::function<std::vector<double>(const hpo::ParamSet&)>& values, int count) {
        for (int i = 0; i < count; ++i) {
            hpo::ParamSet params = ask(sampler, space);
            std::vector<double> its = values(params);
            add(std::move(params)).values = std::move(its);
        }
    }
    [[nodiscard]] double best() const {
        double least = HUGE_VAL;
        for (const auto& trial : trials) {
            if (trial.state == hpo::TrialState::complete && trial.feasible()) least = std::min(least, trial.values[0]);
        }
        return least;
    }
};

void square_space(hpo::SpaceTrial& trial) {
    trial.suggest_float("x", -5, 5);
    trial.suggest_float("y", -5, 5);
}
double bowl(const hpo::ParamSet& params) {
    const double x = *params.number("x") - 1.5, y = *params.number("y") + 2;
    return x * x + 3 * y * y;
}

}  // namespace

TEST_CASE("gp finds the bottom of a bowl in few trials") {
    GpStudy study;
    Gp sampler;
    study.run(
        sampler, square_space, [](const hpo::ParamSet& params) { return std::vector{bowl(params)}; }, 35);
    CHECK(study.best() < 1e-2);
}

TEST_CASE("gp continues a study that it has not seen as it would have gone on") {
    GpStudy study;
    Gp sampler;
    const auto values = [](const hpo::ParamSet& params) { return std::vector{bowl(params)}; };
    study.run(sampler, square_space, values, 47);
    Gp fresh;
    CHECK(study.ask(fresh, square_space) == study.ask(sampler, square_space));
    Gp copy = sampler;
    CHECK(study.ask(copy, square_space) == study.ask(sampler, square_space));
}

TEST_CASE("gp stays away from what runs") {
    GpStudy study;
    Gp sampler;
    study.run(
        sampler, square_space, [](const hpo::ParamSet& params) { return std::vector{bowl(params)}; }, 12);
    std::vector<hpo::ParamSet> open;
    for (int i = 0; i < 4; ++i) {
        open.push_back(study.ask(sampler, square_space));
        study.add(open.back(), hpo::TrialState::running);
    }
    for (std::size_t i = 0; i < open.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j)
            CHECK(std::hypot(*open[i].number("x") - *open[j].number("x"), *open[i].number("y") - *open[j].number("y")) > 0.005);
    }
}

TEST_CASE("gp looks where constraints hold, of trials that ran, failed or were refused") {
    const bool is_refused = GENERATE(false, true);
    GpStudy study;
    Gp sampler;
    int outside = 0;
    for (int i = 0; i < 60; ++i) {
        hpo::ParamSet params = study.ask(sampler, square_space);
        const double excess = *params.number("x") + *params.number("y") + 1;  // the bottom, (1.5, -2), lies outside
        if (i >= 40 && excess > 0.25) ++outside;
        if (excess > 0 && is_refused) {
            study.rejections.push_back({params, {}, excess, "too large", hpo::Time{std::chrono::microseconds{std::ssize(study.trials)}}});
            continue;
        }
        const double value = bowl(params);
        hpo::Trial& trial = study.add(std::move(params), excess > 0 ? hpo::TrialState::fail : hpo::TrialState::complete);
        if (excess <= 0) trial.values = {value};
        trial.constraints["memory"] = excess;
    }
    CHECK(outside <= 6);                                 // of 20; the least value lies on the edge itself
    CHECK(study.best() == Approx(0.1875).margin(0.05));  // at (1.125, -2.125), where Lagrange's multiplier is 0.75
}

TEST_CASE("gp covers the front of two objectives") {
    GpStudy study;
    study.directions = {hpo::Direction::minimize, hpo::Direction::maximize};
    Gp sampler;
    study.run(
        sampler, [](hpo::SpaceTrial& trial) { trial.suggest_float("x", -3, 5); },
        [](const hpo::ParamSet& params) {
            const double x = *params.number("x");
            return std::vector{x * x, -(x - 2) * (x - 2)};  // Schaffer's first problem: the front is 0 <= x <= 2
        },
        40);
    int inside = 0;
    std::set<int> tenths;
    for (std::size_t i = 20; i < study.trials.size(); ++i) {
        const double x = *study.trials[i].params.number("x");
        if (x >= -0.05 && x <= 2.05) ++inside, tenths.insert(static_cast<int>(std::floor(x * 5)));
    }
    CHECK(inside >= 16);
    CHECK(tenths.size() >= 6);
}

TEST_CASE("gp takes five objectives, whatever the size of the front") {
    GpStudy study;
    study.directions.assign(5, hpo::Direction::minimize);
    Gp sampler;
    study.run(
        sampler, [](hpo::SpaceTrial& trial) { trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1); },
        [](const hpo::ParamSet& params) {
            const double x = *params.number("x"), y = *params.number("y");
            return std::vector{x, y, 1 - x, 1 - y, std::fabs(x - y)};  // each trial is on the front
        },
        40);
    CHECK(study.trials.size() == 40);
}

TEST_CASE("gp holds choices, whole numbers and branches in one model") {
    GpStudy study;
    Gp sampler;
    const hpo::Space space = [](hpo::SpaceTrial& trial) {
        const auto kind = trial.suggest_categorical("kind", {hpo::Value{"a"}, hpo::Value{"b"}, hpo::Value{"c"}});
        trial.suggest_int("layers", 1, 12);
        if (kind == hpo::Value{"b"}) trial.suggest_float("rate", 1e-5, 1, {.log = true});
    };
    study.run(
        sampler, space,
        [](const hpo::ParamSet& params) {
            const double layers = *params.number("layers") - 7;
            const auto rate = params.number("rate");
            return std::vector{layers * layers + (rate ? std::pow(std::log10(*rate) + 2, 2) : 5)};
        },
        50);
    CHECK(study.best() < 0.05);
}

TEST_CASE("gp sees which parameters a branch has, and does not stay in one for those of another") {
    GpStudy study;
    Gp sampler;
    study.run(
        sampler,
        [](hpo::SpaceTrial& trial) {
            const bool is_deep = trial.suggest_categorical("deep", {hpo::Value{false}, hpo::Value{true}}) == hpo::Value{true};
            if (!is_deep) {
                trial.suggest_float("width", 0, 1);
                return;
            }
            const std::int64_t layers = trial.suggest_int("layers", 1, 3);
            for (std::int64_t i = 0; i < layers; ++i) trial.suggest_float(std::string{"units"}.append(std::to_string(i)), 0, 1);
        },
        [](const hpo::ParamSet& params) {  // the shallow branch is good from the beginning, and the deep one better
            if (const auto width = params.number("width")) return std::vector{0.1 + *width * 0.01};
            double sum = 0.02 * (3 - *params.number("layers"));
            for (const hpo::Param& param : params) {
                if (param.name.starts_with("units")) sum += std::pow(param.internal - 0.7, 2);
            }
            return std::vector{sum};
        },
        60);
    CHECK(study.best() < 0.005);
}

TEST_CASE("gp with repeat=false proposes each configuration of a small space once") {
    GpStudy study;
    Gp sampler{{.startup_trials = 3, .repeat = false}};
    std::set<std::string> tried;
    study.run(
        sampler,
        [](hpo::SpaceTrial& trial) {
            trial.suggest_int("x", 0, 4), trial.suggest_categorical("y", {hpo::Value{"a"}, hpo::Value{"b"}});
        },
        [&](const hpo::ParamSet& params) {
            tried.insert(hpo::json_text(params));
            return std::vector{std::fabs(*params.number("x") - 2)};
        },
        12);
    CHECK(tried.size() == 10);  // of 12 trials, the first three are by chance and may repeat themselves
}

TEST_CASE("gp learns the other parameters where some are fixed") {
    GpStudy study;
    Gp sampler;
    study.run(
        sampler, square_space, [](const hpo::ParamSet& params) { return std::vector{bowl(params)}; }, 30);
    const hpo::ParamSet asked = study.ask(sampler, square_space, {{"x", hpo::Value{1.5}}});
    CHECK(asked.number("x") == 1.5);
    CHECK(std::fabs(*asked.number("y") + 2) < 0.5);
}

TEST_CASE("gp takes infinite values for the worst finite one, and leaves out what is no number") {
    GpStudy study;
    Gp sampler;
    const std::array strange{HUGE_VAL, -HUGE_VAL, std::nan("")};
    int count = 0;
    study.run(
        sampler, square_space,
        [&](const hpo::ParamSet& params) {
            return std::vector{++count % 4 == 0 ? strange[static_cast<std::size_t>(count / 4) % 3] : bowl(params)};
        },
        40);
    const hpo::ParamSet asked = study.ask(sampler, square_space);
    CHECK(std::isfinite(*asked.number("x")));
}

TEST_CASE("gp refuses a negative number of first trials") {
    CHECK_THROWS_WITH(Gp({.startup_trials = -1}), "startup_trials: got -1; expected 0 or more");
}
