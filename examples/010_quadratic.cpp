// SPDX-License-Identifier: MIT
// The smallest study: two parameters, one value, in this process.
#include <cstdio>

#include "hpo/hpo.hpp"

int main() {
    hpo::Tuner tuner{hpo::sampler::Tpe{}};
    hpo::store::InMemory store;
    const auto study = tuner.optimize(store, "quadratic", [](hpo::LiveTrial& trial) {
        const double x = trial.suggest_float("x", -5, 5);
        const double y = trial.suggest_float("y", -5, 5);
        return (x - 1) * (x - 1) + (y + 2) * (y + 2);
    });
    std::printf("%zu trials, best %.3f at x = %.2f, y = %.2f\n", study.trials.size(), study.best()->values[0],
                study.best()->params.get<double>("x"), study.best()->params.get<double>("y"));
}
