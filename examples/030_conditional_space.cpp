// SPDX-License-Identifier: MIT
// A space with branches, a hard constraint and pruning. The study is kept in an SQLite file that Optuna can open, too.
//   030_conditional_space [FILE]      run it twice: it continues where it stopped
#include <cmath>
#include <cstdio>
#include <string>

#include "hpo/hpo.hpp"
#include "hpo/store/sqlite.hpp"

int main(int argc, char** argv) {
    hpo::Tuner tuner{hpo::sampler::Tpe{}, hpo::pruner::Median{}, hpo::guard::Unlimited{}, hpo::recovery::Fail{}};
    const auto objective = [](hpo::LiveTrial& trial) {
        const hpo::Value kind = trial.suggest_categorical("optimizer", {std::string{"sgd"}, std::string{"adamw"}});
        const bool sgd = kind == hpo::Value{std::string{"sgd"}};
        const double rate = trial.suggest_float("rate", 1e-5, 1e-1, {.log = true});
        // Only SGD has momentum, and a high rate with a high momentum is never worth a run.
        const double momentum = sgd ? trial.suggest_float("momentum", 0.0, 0.99) : 0.0;
        trial.require(!(sgd && rate > 0.03 && momentum > 0.9), "diverges");

        const double optimum = sgd ? 2e-2 : 1e-3;
        double loss = 0;
        for (int epoch = 1; epoch <= 10; ++epoch) {
            loss = std::abs(std::log10(rate / optimum)) + std::abs(momentum - 0.9) * (sgd ? 1 : 0) + 1.0 / epoch;
            trial.report(epoch, loss);
            if (trial.should_prune()) break;
        }
        return loss;
    };
    const auto study =
        tuner.optimize(hpo::store::Sqlite{argc > 1 ? argv[1] : "conditional.db"}, "conditional", objective, {.trials = 60, .seed = 7});
    std::printf("%zu trials, best loss %.2f with %s\n", study.trials.size(), study.best()->values[0],
                hpo::display_text(*study.best()->params.value("optimizer")).c_str());
}
