// SPDX-License-Identifier: MIT
// A define-by-run objective knows its parameters only while it runs, so no guard but `unlimited` can be asked.
// message: a memory guard has to know the parameters before the trial runs
#include "hpo/guard/formula.hpp"
#include "hpo/pruner/none.hpp"
#include "hpo/recovery/fail.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/tuner.hpp"

#ifdef HPO_MISUSE
using Guard = hpo::guard::Formula;
#else
using Guard = hpo::guard::Unlimited;
#endif

void study() {
    hpo::Tuner tuner{hpo::sampler::Random{}, hpo::pruner::None{}, Guard{}, hpo::recovery::Fail{}};
    tuner.optimize(hpo::store::InMemory{}, "s", [](hpo::LiveTrial& trial) { return trial.suggest_float("x", 0, 1); });
}
