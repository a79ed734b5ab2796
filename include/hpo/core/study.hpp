// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/attributes.hpp"
#include "hpo/core/fields.hpp"
#include "hpo/core/trial.hpp"

namespace hpo {

enum class Direction { minimize, maximize };
inline constexpr std::array<std::string_view, 2> direction_names{"minimize", "maximize"};
template <>
struct EnumNames<Direction> {
    static constexpr auto& names = direction_names;
};

[[nodiscard]] constexpr std::string_view to_text(Direction direction) { return direction_names[static_cast<std::size_t>(direction)]; }

/// True if `a` is strictly better than `b`. NaN is never better.
[[nodiscard]] inline bool better(Direction direction, double a, double b) {
    if (std::isnan(a)) return false;
    if (std::isnan(b)) return true;
    return direction == Direction::minimize ? a < b : a > b;
}

/// A study's identity. Its trials are in the store.
struct Study {
    std::int64_t id = -1;
    std::string name;
    std::vector<Direction> directions;
    Attributes user_attributes;
    Attributes system_attributes;
};

/// The best complete and feasible trial of a single-objective study, or null. If values are equal, the earlier trial wins. An infinite
/// value is never the best: it says that something went wrong or that there was no result.
[[nodiscard]] inline const Trial* best_trial(std::span<const Trial> trials, Direction direction) {
    const Trial* best = nullptr;
    for (const Trial& trial : trials) {
        if (trial.state != TrialState::complete || trial.values.empty() || !std::isfinite(trial.values[0]) || !trial.feasible()) continue;
        if (!best || better(direction, trial.values[0], best->values[0])) best = &trial;
    }
    return best;
}

}  // namespace hpo
