// SPDX-License-Identifier: MIT
// The first policy is the sampler. The others have defaults, and so one alone must be a sampler.
// message: Sampler
#include "hpo/pruner/none.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/tuner.hpp"

#ifdef HPO_MISUSE
using Only = hpo::pruner::None;
#else
using Only = hpo::sampler::Random;
#endif

void study() { hpo::Tuner tuner{Only{}}; }
