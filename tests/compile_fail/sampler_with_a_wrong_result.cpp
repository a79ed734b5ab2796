// SPDX-License-Identifier: MIT
// A sampler's `suggest` returns the internal value, a double.
// message: suggest
#include "hpo/guard/unlimited.hpp"
#include "hpo/pruner/none.hpp"
#include "hpo/recovery/fail.hpp"
#include "hpo/tuner.hpp"

struct Middle {
#ifdef HPO_MISUSE
    int suggest(const hpo::Ask& /*ask*/) { return 0; }
#else
    double suggest(const hpo::Ask& /*ask*/) { return 0; }
#endif
};

void study() { hpo::Tuner tuner{Middle{}, hpo::pruner::None{}, hpo::guard::Unlimited{}, hpo::recovery::Fail{}}; }
