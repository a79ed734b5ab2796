// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/memory_need/memory_axis.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// What one parameter adds to the logarithm of a trial's demand: a straight line over a number or its logarithm, or a level for each
/// choice.
struct MemoryTerm {
    MemoryAxis axis;
    bool logarithmic = false;
    double slope = 0;
    double centre = 0;  ///< the centre of the number's values
    double level = 0;   ///< the value at the centre
    std::vector<std::pair<Value, double>> levels;
    double freedom = 1;
    bool certain = false;  ///< the direction is certain from measured peaks

    /// Returns nullopt for a value that was never seen, and 0 for a trial without the parameter.
    [[nodiscard]] std::optional<double> at(const ParamSet& params) const {
        const auto value = params.value(axis.param);
        if (!value) return 0.0;
        if (axis.direction == 0) {
            const auto found = std::ranges::find(levels, *value, &std::pair<Value, double>::first);
            return found == levels.end() ? std::nullopt : std::optional{found->second};
        }
        const double number = params.number(axis.param).value_or(0);
        if (logarithmic && number <= 0) return std::nullopt;
        return level + slope * ((logarithmic ? std::log(number) : number) - centre);
    }
};

}  // namespace hpo::analysis
