// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/core/trial.hpp"
#include "support/json.hpp"

namespace hpo::analyze {

/// A trial without attributes and attempts, for lists.
[[nodiscard]] hpo::tools::Json brief_json(const hpo::Trial& trial);

}  // namespace hpo::analyze
