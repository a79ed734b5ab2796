// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "hpo/core/history.hpp"
#include "hpo/sampler/suggest.hpp"

namespace hpo::testing {

/// A function to minimise, with its search space.
struct Problem {
    std::string name;
    Space space;
    std::function<double(const ParamSet&)> loss;
};

namespace detail {

inline Problem real_problem(std::string name, std::size_t dimensions, FloatDistribution range,
                            std::function<double(const std::vector<double>&)> loss) {
    const auto parameter = [](std::size_t i) { return std::string{'x'}.append(std::to_string(i)); };
    return {std::move(name),
            [=](SpaceTrial& trial) {
                for (std::size_t i = 0; i < dimensions; ++i) trial.suggest_float(parameter(i), range.low, range.high);
            },
            [=](const ParamSet& params) {
                std::vector<double> x;
                for (std::size_t i = 0; i < dimensions; ++i) x.push_back(*params.number(parameter(i)));
                return loss(x);
            }};
}

}  // namespace detail

/// Sum of squares in [-5, 5]^5.
inline Problem sphere() {
    return detail::real_problem("sphere", 5, {.low = -5, .high = 5}, [](const std::vector<double>& x) {
        double sum = 0;
        for (const double each : x) sum += each * each;
        return sum;
    });
}

/// Rosenbrock's valley in [-5, 10]^5.
inline Problem rosenbrock() {
    return detail::real_problem("rosenbrock", 5, {.low = -5, .high = 10}, [](const std::vector<double>& x) {
        double sum = 0;
        for (std::size_t i = 0; i + 1 < x.size(); ++i) sum += 100 * std::pow(x[i + 1] - x[i] * x[i], 2) + std::pow(1 - x[i], 2);
        return sum;
    });
}

/// Rastrigin's lattice of minima in [-5.12, 5.12]^5.
inline Problem rastrigin() {
    return detail::real_problem("rastrigin", 5, {.low = -5.12, .high = 5.12}, [](const std::vector<double>& x) {
        double sum = 10 * static_cast<double>(x.size());
        for (const double each : x) sum += each * each - 10 * std::cos(2 * std::numbers::pi * each);
        return sum;
    });
}

/// Ackley's function in [-32.768, 32.768]^5.
inline Problem ackley() {
    return detail::real_problem("ackley", 5, {.low = -32.768, .high = 32.768}, [](const std::vector<double>& x) {
        double squares = 0;
        double waves = 0;
        for (const double each : x) squares += each * each, waves += std::cos(2 * std::numbers::pi * each);
        const auto n = static_cast<double>(x.size());
        return -20 * std::exp(-0.2 * std::sqrt(squares / n)) - std::exp(waves / n) + 20 + std::numbers::e;
    });
}

/// Branin's function. Its minimum is 0.397887.
inline Problem branin() {
    return {"branin",
            [](SpaceTrial& trial) {
                trial.suggest_float("x", -5, 10);
                trial.suggest_float("y", 0, 15);
            },
            [](const ParamSet& params) {
                const double pi = std::numbers::pi;
                const double x = *params.number("x");
                const double y = *params.number("y");
                return std::pow(y - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6, 2) + 10 * (1 - 1 / (8 * pi)) * std::cos(x) + 10;
            }};
}

/// A small network's settings: a log scale, two grids, a choice, whole numbers on a log scale.
inline Problem mixed() {
    return {"mixed",
            [](SpaceTrial& trial) {
                trial.suggest_float("lr", 1e-5, 1e-1, {.log = true});
                trial.suggest_int("batch", 8, 64, {.step = 8});
                trial.suggest_categorical("optimizer", {Value{"adam"}, Value{"sgd"}, Value{"rmsprop"}});
                trial.suggest_float("dropout", 0, 0.5, {.step = 0.1});
                trial.suggest_int("width", 16, 1024, {.log = true});
            },
            [](const ParamSet& params) {
                static constexpr std::array<double, 3> penalty{0, 0.3, 0.1};
                return std::pow(std::log10(*params.number("lr")) + 3, 2) + 0.05 * std::pow((*params.number("batch") - 32) / 8, 2) +
                       penalty.at(static_cast<std::size_t>(params.find("optimizer")->internal)) +
                       4 * std::pow(*params.number("dropout") - 0.2, 2) + 0.1 * std::pow(std::log2(*params.number("width")) - 7.5, 2);
            }};
}

/// Runs `trials` trials of `problem` one after the other, in memory. Returns all of them.
template <Sampler S>
[[nodiscard]] std::vector<Trial> search(S& sampler, const Problem& problem, std::int64_t trials, Seed seed) {
    static constexpr std::array directions{Direction::minimize};
    std::vector<Trial> finished;
    finished.reserve(static_cast<std::size_t>(trials));
    for (std::int64_t number = 0; number < trials; ++number) {
        const History history{problem.name, directions, finished, {}};
        Trial trial;
        trial.number = number;
        trial.params = suggest_params(sampler, problem.space, {number, history}, seed);
        trial.state = TrialState::complete;
        trial.values = {problem.loss(trial.params)};
        finished.push_back(std::move(trial));
    }
    return finished;
}

/// The best values that `search` finds with the seeds 0 to `seeds` - 1, sorted.
template <std::default_initializable S>
[[nodiscard]] std::vector<double> best_values(const Problem& problem, std::int64_t trials, std::uint64_t seeds) {
    std::vector<double> best;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        S sampler;
        const std::vector<Trial> finished = search(sampler, problem, trials, Seed{seed});
        best.push_back(best_trial(finished, Direction::minimize)->values[0]);
    }
    std::sort(best.begin(), best.end());
    return best;
}

}  // namespace hpo::testing
