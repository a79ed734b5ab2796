// SPDX-License-Identifier: MIT
// A sampler of your own. Any type that satisfies the concept works with the other policies. This one takes smaller and smaller steps
// around the best trial so far.
#include <cmath>
#include <cstdio>

#include "hpo/hpo.hpp"

class HillClimber {
public:
    [[nodiscard]] double suggest(const hpo::Ask& ask) const {
        const hpo::History& history = ask.trial.history;
        const hpo::Trial* best = hpo::best_trial(history.trials, history.directions[0]);
        const auto centre = best ? best->params.number(ask.name) : std::nullopt;
        if (!centre) return ask.uniform();  // the first trial, and parameters that are no numbers
        const double reach = 20 / std::sqrt(1.0 + static_cast<double>(ask.trial.number));
        return ask.clamp(*centre + reach * (2 * ask.rng.uniform() - 1));
    }
};
static_assert(hpo::Sampler<HillClimber>);

int main() {
    hpo::Tuner tuner{HillClimber{}};
    hpo::store::InMemory store;
    const auto study = tuner.optimize(store, "hill", [](hpo::LiveTrial& trial) {
        const double x = trial.suggest_float("x", -10, 10);
        const auto k = static_cast<double>(trial.suggest_int("k", 1, 50));
        return std::abs(x - 3) + std::abs(k - 20);
    });
    std::printf("after %zu trials: k = %d, x %s\n", study.trials.size(), study.best()->params.get<int>("k"),
                std::abs(study.best()->params.get<double>("x") - 3) < 0.5 ? "near 3" : "far from 3");
}
