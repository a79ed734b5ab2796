// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "hpo/pruner/concept.hpp"

namespace hpo::tests {

/// Reports of single trials for which decisions of Optuna 5.0.0 were recorded.
inline std::vector<std::vector<double>> recorded_reports() {
    const double none = std::nan("");
    const double infinity = HUGE_VAL;
    return {{5, 4, 3, 3, 3, 3, 2, 2.05, 2.1, 2.2}, {none, none, 3, 4, 5, 6},
            {3, none, none, none, 4, 4, none},     {1, 1, 1, 1},
            {5, 4.95, 4.9, 4.85, 4.8, 4.75},       {infinity, 3, infinity, infinity, 4}};
}

/// What a pruner that looks at the trial alone answers to each report: "0" to go on, "1" to stop.
template <Pruner P>
std::string decisions_of(P pruner, const std::vector<double>& values, Direction direction = Direction::minimize) {
    Trial trial;
    std::string decisions;
    for (const double value : values) {
        const auto step = static_cast<std::int64_t>(decisions.size());
        trial.intermediate[step] = value;
        decisions += pruner.judge({trial, step, direction, History{}}).prunes() ? '1' : '0';
    }
    return decisions;
}

}  // namespace hpo::tests
