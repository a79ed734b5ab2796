// SPDX-License-Identifier: MIT
// The four policies have an order: sampler, pruner, memory guard, recovery policy.
// message: Pruner
#include "hpo/guard/unlimited.hpp"
#include "hpo/pruner/none.hpp"
#include "hpo/recovery/fail.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/tuner.hpp"

void study() {
#ifdef HPO_MISUSE
    hpo::Tuner tuner{hpo::sampler::Random{}, hpo::guard::Unlimited{}, hpo::pruner::None{}, hpo::recovery::Fail{}};
#else
    hpo::Tuner tuner{hpo::sampler::Random{}, hpo::pruner::None{}, hpo::guard::Unlimited{}, hpo::recovery::Fail{}};
#endif
}
