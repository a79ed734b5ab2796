// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hpo/core/param_set.hpp"
#include "hpo/space/space_trial.hpp"

namespace hpo {

/// Runs the space again with the answers of `params`. Returns how it then differs, as words after "it": "asks for 'x'". Returns nullopt if
/// it asks the same questions. It is run two more times, because a space may change with each call.
[[nodiscard]] std::optional<std::string> changed_question(const Space& space, const ParamSet& params, std::int64_t number);

}  // namespace hpo
