// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace hpo::sampler {

/// A box of the objectives' values that no observation dominates. Lower values are better.
struct FreeCell {
    std::vector<double> low;  ///< by objective; -infinity: no end
    std::vector<double> high;
};

/// Where the volume that a front dominates ends in one objective, if `worst` is its worst value there.
[[nodiscard]] inline double reference_beyond(double worst) { return std::max(1.1 * worst, 0.9 * worst); }

/// The space below `reference` that no point of `front` dominates, as boxes that do not overlap. For one objective that is what lies below
/// the least value. O(points^(objectives - 1)) boxes.
[[nodiscard]] inline std::vector<FreeCell> free_cells(const std::vector<std::vector<double>>& front, const std::vector<double>& reference) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (reference.size() == 1) {
        double least = reference[0];
        for (const auto& point : front) least = std::min(least, point[0]);
        return {{{-infinity}, {least}}};
    }
    std::vector<std::vector<double>> ascending = front;  // by the last objective
    std::sort(ascending.begin(), ascending.end(), [](const auto& a, const auto& b) { return a.back() < b.back(); });
    const std::vector<double> rest(reference.begin(), reference.end() - 1);
    std::vector<std::vector<double>> at_most;  // points whose last value is at most that of the slab, without it
    std::vector<FreeCell> cells;
    double low = -infinity;
    for (std::size_t i = 0; i <= ascending.size(); ++i) {
        const double high = i < ascending.size() ? std::min(ascending[i].back(), reference.back()) : reference.back();
        if (high > low) {
            for (FreeCell& cell : free_cells(at_most, rest)) {
                cell.low.push_back(low);
                cell.high.push_back(high);
                cells.push_back(std::move(cell));
            }
            low = high;
        }
        if (i < ascending.size()) at_most.emplace_back(ascending[i].begin(), ascending[i].end() - 1);
    }
    return cells;
}

/// The volume that a point dominates of the cells.
[[nodiscard]] inline double dominated_volume(std::span<const FreeCell> cells, std::span<const double> point) {
    double sum = 0;
    for (const FreeCell& cell : cells) {
        double volume = 1;
        for (std::size_t m = 0; m < point.size(); ++m) volume *= std::max(0.0, cell.high[m] - std::max(cell.low[m], point[m]));
        sum += volume;
    }
    return sum;
}

}  // namespace hpo::sampler
