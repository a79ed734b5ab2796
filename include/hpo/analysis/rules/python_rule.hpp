// SPDX-License-Identifier: MIT
#pragma once

#include <set>
#include <span>
#include <string>

#include "hpo/analysis/rules/lua_rule.hpp"
#include "hpo/core/failure.hpp"

namespace hpo::analysis {

/// A Python module with the rule for a study that Optuna ran. It has the regions of the Lua rule. Without causes the text is empty.
///
/// `require_fits(trial)` is called in the objective after the last parameter was suggested. It raises TrialPruned in a region in which no
/// trial ran and none is among the best. It is missing if there is no such region.
///
/// `keeps_message(objective)` is an objective that prunes a trial that runs out of memory, and keeps the message for the next post-mortem.
[[nodiscard]] std::string python_rule(std::span<const OomRegion> regions, const std::set<OomCause>& causes);

}  // namespace hpo::analysis
