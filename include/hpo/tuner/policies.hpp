// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/guard/concept.hpp"
#include "hpo/pruner/concept.hpp"
#include "hpo/recovery/concept.hpp"
#include "hpo/sampler/concept.hpp"

namespace hpo::tuner {

/// The four policies of a study.
template <Sampler S, Pruner P, MemoryGuard G, RecoveryPolicy R>
struct Policies {
    S sampler;
    P pruner;
    G guard;
    R recovery;
};

}  // namespace hpo::tuner
