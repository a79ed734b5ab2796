// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "hpo/core/plan.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo::tune {

/// Makes the allocator settings that workers on a GPU would inherit from this program's environment the plan's own, where it has none: then
/// predictions know them, too.
void inherit_allocator_settings(ExecutionPlan& plan);

/// Says why the trainer's LibTorch does not know the allocator settings to which a plan changes. Returns nullopt if it does, and if its
/// version is not known.
[[nodiscard]] std::optional<std::string> refused_allocator(const ExecutionPlan& from, const ExecutionPlan& to, const TrainerInfo& info);

}  // namespace hpo::tune
