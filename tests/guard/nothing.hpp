// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/core/param_set.hpp"
#include "hpo/core/plan.hpp"

namespace hpo::tests {

inline const ParamSet no_params;
inline const ExecutionPlan no_plan;

}  // namespace hpo::tests
