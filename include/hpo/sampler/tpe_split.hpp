// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "hpo/core/history.hpp"

namespace hpo::sampler {

/// What TPE models: the parameters of the good observations and of the others, each from oldest to newest.
struct TpeSplit {
    std::vector<const ParamSet*> below;
    std::vector<const ParamSet*> above;
};

/// True for trials that TPE learns from: finished ones, failed ones only where a constraint says that they were infeasible,
/// and running ones (as a constant liar: they repel).
[[nodiscard]] bool tpe_observes(const Trial& trial);

/// Splits the history but for the trial `number`: the best share `gamma` of the finished trials, at most 25, is below.
/// Better are: complete trials by value, then pruned ones by how far they came and their last value, then infeasible ones
/// by total violation, rejections among them. A NaN value is the worst. A trial whose parameters a rule changed is seen with those that its
/// last attempt ran with.
[[nodiscard]] TpeSplit tpe_split(const History& history, std::int64_t number, double gamma);

}  // namespace hpo::sampler

#ifndef HPO_COMPILED
#include "hpo/sampler/impl/tpe_split_inl.hpp"
#endif
