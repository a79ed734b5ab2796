// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// True if each objective of the trial is finite. A trial without values has none that is not.
[[nodiscard]] inline bool has_finite_values(const Trial& trial) {
    return std::ranges::all_of(trial.values, [](double value) { return std::isfinite(value); });
}

}  // namespace hpo::analysis
