// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "hpo/core/param_set.hpp"
#include "settings.hpp"

namespace hpo::tune {

/// Draws from the study's space at random, before anything starts, so that a script or a fixed value that is wrong shows.
/// Throws what the space throws.
[[nodiscard]] std::vector<ParamSet> draw_proposals(const Settings& settings);

/// Fixed parameters that none of the proposals was asked for: misspelled, or of a branch that was not met.
[[nodiscard]] std::vector<std::string> never_asked(const Settings& settings, const std::vector<ParamSet>& proposals);

}  // namespace hpo::tune
