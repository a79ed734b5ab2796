// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include "hpo/core/param_set.hpp"
#include "hpo/core/value.hpp"

namespace hpo::analysis {

/// A parameter that memory depends on, as far as the study shows.
struct DemandAxis {
    std::string param;
    int direction = 0;  ///< +1: larger values need more; -1: smaller ones; 0: choices, which only compare as equal
};

/// How `a` compares with `b` on one axis: +1 more demanding, 0 the same, -1 less, 2 not comparable (other choices, or one lacks it).
[[nodiscard]] inline int compare_demand(const DemandAxis& axis, const ParamSet& a, const ParamSet& b) {
    const auto x = a.value(axis.param);
    const auto y = b.value(axis.param);
    if (!x && !y) return 0;
    if (!x || !y) return 2;
    if (axis.direction == 0) return *x == *y ? 0 : 2;
    const auto m = a.number(axis.param);
    const auto n = b.number(axis.param);
    if (!m || !n) return *x == *y ? 0 : 2;
    if (*m == *n) return 0;
    return (*m > *n) == (axis.direction > 0) ? 1 : -1;
}

/// True when nothing that memory depends on is easier in `a` than in `b`. Never true without axes.
[[nodiscard]] inline bool at_least_as_demanding(std::span<const DemandAxis> axes, const ParamSet& a, const ParamSet& b) {
    return !axes.empty() && std::ranges::all_of(axes, [&](const DemandAxis& axis) {
        const int order = compare_demand(axis, a, b);
        return order == 0 || order == 1;
    });
}

}  // namespace hpo::analysis
