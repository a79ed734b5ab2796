// SPDX-License-Identifier: MIT
#include <cstdio>

#include "hpo/hpo.hpp"

int main() {
    hpo::Tuner tuner{hpo::sampler::Tpe{}, hpo::pruner::Median{}, hpo::guard::Unlimited{}, hpo::recovery::ShrinkMicroBatch{}};
    const auto study = tuner.optimize(hpo::store::InMemory{}, "in process",
                                      [](hpo::LiveTrial& trial) { return trial.suggest_float("x", 0, 1); }, {.trials = 20});
    std::printf("%zu trials\n", study.trials.size());
    return study.trials.size() == 20 ? 0 : 1;
}
