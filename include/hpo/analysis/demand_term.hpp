// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "hpo/analysis/demand.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// What one parameter adds to the logarithm of a trial's demand: a straight line over (the logarithm of) a number, or a level for each
/// choice.
struct DemandTerm {
    DemandAxis axis;
    bool logarithmic = false;
    double slope = 0;
    double centre = 0;  ///< of the number
    double level = 0;   ///< at the centre
    std::vector<std::pair<Value, double>> levels;
    double freedom = 1;
    bool certain = false;  ///< measured peaks leave no doubt about the direction

    /// Nothing for a value that was never seen, 0 for a trial without the parameter.
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
