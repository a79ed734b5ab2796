// SPDX-License-Identifier: MIT
#include <cstdio>

#include "hpo/hpo.hpp"
#include "hpo/store/sqlite.hpp"

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    hpo::Tuner tuner{hpo::sampler::Random{}, hpo::pruner::None{}, hpo::guard::Unlimited{}, hpo::recovery::Fail{}};
    const auto study = tuner.optimize(hpo::store::Sqlite{argv[1]}, "consumer",
                                      [](hpo::LiveTrial& trial) { return trial.suggest_float("x", 0, 1); }, {.trials = 20});
    std::printf("%zu trials\n", study.trials.size());
    return study.trials.size() == 20 ? 0 : 1;
}
