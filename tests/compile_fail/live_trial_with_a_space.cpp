// SPDX-License-Identifier: MIT
// An objective that takes LiveTrial& asks for its parameters itself, so a space beside it would never be asked.
// message: let it take tuner::RunningJob&
#include "hpo/sampler/random.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/tuner.hpp"

#ifdef HPO_MISUSE
using Seen = hpo::LiveTrial;
#else
using Seen = hpo::tuner::RunningJob;
#endif

void study() {
    hpo::Tuner tuner{hpo::sampler::Random{}};
    const hpo::Space space = [](hpo::SpaceTrial& trial) { trial.suggest_float("x", 0, 1); };
    tuner.optimize(hpo::store::InMemory{}, "s", space, [](Seen& seen) { return static_cast<double>(seen.number()); });
}
