// SPDX-License-Identifier: MIT
// The parameters of a RunningJob& are known before it runs, so somebody has to say what they are.
// message: give `optimize` the space
#include "hpo/sampler/random.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/tuner.hpp"

#ifdef HPO_MISUSE
using Seen = hpo::tuner::RunningJob;
#else
using Seen = hpo::LiveTrial;
#endif

void study() {
    hpo::Tuner tuner{hpo::sampler::Random{}};
    tuner.optimize(hpo::store::InMemory{}, "s", [](Seen& seen) { return static_cast<double>(seen.number()); });
}
