// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "hpo/core/plan.hpp"

namespace hpo::test {

/// python/hpo/_trial/_plan.py: the plan as a program in Python sees it. What acts on the allocator is done before the program starts.
[[nodiscard]] inline std::string python_plan() {
    std::string members;
    std::string given;
    each_plan_field([&]<class T>(const PlanField<T>& field) {
        if (field.effect == PlanEffect::allocator) return;
        const std::string key{field.key};
        const std::string get = "told.get(\"" + key + "\"";
        std::string type = "Optional[int]";
        std::string value = get + ")";
        if constexpr (std::is_same_v<T, bool>) {
            type = "bool";
            value = get + (ExecutionPlan{}.*field.member ? ", True)" : ", False)");
        } else if constexpr (std::is_enum_v<T>) {
            type = "str";
            value = get + ", \"" + std::string{to_text(ExecutionPlan{}.*field.member)} + "\")";
        } else if constexpr (std::is_same_v<T, std::string>) {
            type = "str";
            value = field.role == PlanRole::placement ? key : get + ", \"\")";
        } else {
            static_assert(std::is_same_v<T, std::optional<std::int64_t>>, "say what this type is in Python");
        }
        const bool is_device = field.role == PlanRole::placement;  // another one inside: a program on cuda:1 sees cuda:0
        const std::string summary{is_device ? "The device as this program sees it: cpu, cuda:0." : field.summary};
        members += "    " + key + ": " + type + "\n    \"\"\"" + summary + "\"\"\"\n";
        given += "        " + key + "=" + value + ",\n";
    });
    return R"(# SPDX-License-Identifier: MIT
"""How a trial runs.

Written from include/hpo/core/plan.hpp by HPO_UPDATE_EXPECTED=1 ctest --preset release -R "Python's plan".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Optional


@dataclass(frozen=True)
class Plan:
    """How the trial should run. The memory guard and the recovery policy choose it; it changes no searched parameter."""

)" + members +
           R"(    accumulation_steps: int
    """Micro-batches for one step of the optimizer, at least 1. The last one may be smaller."""


def plan_of(told: Mapping[str, Any], device: str) -> Plan:
    """The plan that hpo tells a program. ``device`` is the device as the program sees it."""
    return Plan(
)" + given +
           R"(        accumulation_steps=told.get("accumulation_steps", 1),
    )
)";
}

}  // namespace hpo::test
