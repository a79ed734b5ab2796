// SPDX-License-Identifier: MIT
// A define-by-run objective knows its parameters only while it runs, so no guard but `unlimited` can be asked.
// message: G = hpo::memory::Formula
#include "hpo/memory/formula.hpp"
#include "hpo/pruner/none.hpp"
#include "hpo/recovery/fail.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/tuner.hpp"

#ifdef HPO_MISUSE
using Guard = hpo::memory::Formula;
#else
using Guard = hpo::memory::Unlimited;
#endif

void study() {
    hpo::Tuner tuner{hpo::sampler::Random{}, hpo::pruner::None{}, Guard{}, hpo::recovery::Fail{}};
    tuner.optimize(hpo::store::InMemory{}, "s", [](hpo::LiveTrial& trial) { return trial.suggest_float("x", 0, 1); });
}
