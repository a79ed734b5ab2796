// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "hpo/core/history.hpp"

namespace hpo::sampler {

/// The observations that TPE models: the good ones and the others, each from oldest to newest.
struct TpeSplit {
    std::vector<const ParamSet*> below;
    std::vector<const ParamSet*> above;
};

/// True for trials that TPE learns from: finished and running ones. Running trials act as a constant liar: they repel. A failed trial
/// counts only if a constraint says that it was infeasible.
[[nodiscard]] bool tpe_observes(const Trial& trial);

/// Splits the history, without trial `number`. The best share `gamma` of the finished trials, at most 25, is below.
///
/// Complete trials are the best, by value. Then come pruned trials, by their last step and their value there. Then come infeasible trials
/// and rejections, by total violation. A NaN value is the worst. If a rule changed a trial's parameters, those of its last attempt count.
[[nodiscard]] TpeSplit tpe_split(const History& history, std::int64_t number, double gamma);

}  // namespace hpo::sampler

#ifndef HPO_COMPILED
#include "hpo/sampler/impl/tpe_split_inl.hpp"
#endif
