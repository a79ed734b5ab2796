// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/plan.hpp"

namespace hpo {

/// The plan members that differ between two plans and that the trainer itself must obey, by their names in TrainerInfo::levers. Members
/// that concern the process (device, allocator settings, cap) are left out.
[[nodiscard]] inline std::vector<std::string> changed_levers(const ExecutionPlan& from, const ExecutionPlan& to) {
    std::vector<std::string> changed;
    each_plan_field([&](const auto& field) {
        if (field.role != PlanRole::lever || field.effect != PlanEffect::training) return;
        const bool same = field.key == "micro_batch" ? from.effective_micro_batch() == to.effective_micro_batch()
                                                     : from.*field.member == to.*field.member;
        if (!same) changed.emplace_back(field.key);
    });
    return changed;
}

/// Says why a trainer with these levers cannot change from one plan to the other. Returns nullopt if it can.
[[nodiscard]] inline std::optional<std::string> missing_lever(const ExecutionPlan& from, const ExecutionPlan& to,
                                                              std::span<const std::string> levers) {
    for (const std::string& lever : changed_levers(from, to)) {
        if (std::find(levers.begin(), levers.end(), lever) != levers.end()) continue;
        return "the trainer has no lever '" + lever + "'; known: " + join_names(levers);
    }
    return std::nullopt;
}

}  // namespace hpo
