// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "hpo/core/distribution.hpp"

namespace hpo::sampler {

/// One parameter as models of the space see it. A number lies on [low, high] in the *model's* coordinate: the number itself, or its
/// logarithm on a log scale. A grid point stands for the cell of one step around it. A choice is its index.
struct ModelAxis {
    double low = 0;
    double high = 0;
    double first = 0;         ///< least internal value
    double last = 0;          ///< greatest internal value
    double step = 0;          ///< of the grid, in internal values; 0: continuous
    std::size_t choices = 0;  ///< 0: a number
    bool log = false;

    explicit ModelAxis(const Distribution& distribution) {
        if (const auto* real = std::get_if<FloatDistribution>(&distribution)) {
            *this = ModelAxis{real->low, real->high, real->step.value_or(0), real->log};
        } else if (const auto* whole = std::get_if<IntDistribution>(&distribution)) {
            *this =
                ModelAxis{static_cast<double>(whole->low), static_cast<double>(whole->high), static_cast<double>(whole->step), whole->log};
        } else {
            choices = std::get<CategoricalDistribution>(distribution).choices.size();
            last = static_cast<double>(choices - 1);
        }
    }

    /// The model's coordinate of an internal value, or of a bound of its cell.
    [[nodiscard]] double to_model(double internal) const { return log ? std::log(internal) : internal; }
    /// The internal value at a coordinate of the model. On a grid, the nearest grid point.
    [[nodiscard]] double to_internal(double model) const {
        double internal = log ? std::exp(model) : model;
        if (step > 0) internal = first + std::round((internal - first) / step) * step;
        return std::clamp(internal, first, last);
    }
    /// Where an internal value lies if `low` is 0 and `high` is 1. 0 if they are equal: neighbours may have one logarithm.
    [[nodiscard]] double to_unit(double internal) const { return high > low ? (to_model(internal) - low) / (high - low) : 0; }
    /// The model's coordinate that lies there.
    [[nodiscard]] double model_at(double unit) const { return low + unit * (high - low); }
    [[nodiscard]] bool holds(double internal) const { return internal >= first && internal <= last; }

private:
    ModelAxis(double least, double greatest, double grid, bool logarithmic) : first{least}, last{greatest}, step{grid}, log{logarithmic} {
        low = to_model(least - grid / 2);
        high = to_model(greatest + grid / 2);
    }
};

}  // namespace hpo::sampler
