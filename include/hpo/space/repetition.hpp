// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hpo/core/param_set.hpp"
#include "hpo/space/space_trial.hpp"

namespace hpo {

/// What a space does otherwise when it gets the answers of `params` again, as words after "it": "asks for 'x'". Nothing: it asks the same.
/// It is run twice more, since a space may change with each call.
[[nodiscard]] std::optional<std::string> changed_question(const Space& space, const ParamSet& params, std::int64_t number);

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/space/impl/repetition_inl.hpp"
#endif
