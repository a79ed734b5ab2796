// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "hpo/core/plan.hpp"

namespace hpo::store {

/// The plan as one JSON object with a key for each member that is not as in a new ExecutionPlan. So it is short, and still whole.
[[nodiscard]] std::string plan_text(const ExecutionPlan& plan);

/// Sets a precision by its name. An unknown name does not change it.
void read_precision(std::string_view name, Precision& precision);

/// `plan` with the members that the text sets. A key that is unknown, missing or of another type changes no member.
[[nodiscard]] ExecutionPlan parse_plan(std::string_view text, ExecutionPlan plan);

}  // namespace hpo::store
