// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/core/plan.hpp"

namespace hpo {

/// The plan members in which two plans differ and that a trainer itself must obey, as TrainerInfo::levers names them. What its
/// process gets (device, allocator settings, cap) is not among them.
[[nodiscard]] inline std::vector<std::string> changed_levers(const ExecutionPlan& from, const ExecutionPlan& to) {
    std::vector<std::string> changed;
    if (from.effective_micro_batch() != to.effective_micro_batch()) changed.emplace_back("micro_batch");
    if (from.activation_checkpointing != to.activation_checkpointing) changed.emplace_back("activation_checkpointing");
    if (from.precision != to.precision) changed.emplace_back("precision");
    return changed;
}

/// Why a trainer with these levers cannot go from one plan to the other; nothing when it can.
[[nodiscard]] inline std::optional<std::string> missing_lever(const ExecutionPlan& from, const ExecutionPlan& to,
                                                              std::span<const std::string> levers) {
    for (const std::string& lever : changed_levers(from, to)) {
        if (std::find(levers.begin(), levers.end(), lever) != levers.end()) continue;
        return "the trainer has no lever '" + lever + "'; known: " + join_names(levers);
    }
    return std::nullopt;
}

}  // namespace hpo
