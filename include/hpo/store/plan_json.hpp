// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "hpo/core/plan.hpp"

namespace hpo::store {

/// The whole plan as one JSON object, a key for each member.
[[nodiscard]] std::string plan_text(const ExecutionPlan& plan);

/// Sets a precision by its name; a name that is not known leaves it as it is.
void read_precision(std::string_view name, Precision& precision);

/// `plan` with what the text says of it. Keys that are unknown, missing or of another type leave their member as it is.
[[nodiscard]] ExecutionPlan parse_plan(std::string_view text, ExecutionPlan plan);

}  // namespace hpo::store

#ifndef HPO_COMPILED
#include "hpo/store/impl/plan_json_inl.hpp"
#endif
