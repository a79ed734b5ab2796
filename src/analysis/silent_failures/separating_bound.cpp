// SPDX-License-Identifier: MIT
#include "hpo/analysis/silent_failures/separating_bound.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "analysis/memory_need/param_names.hpp"
#include "hpo/analysis/regions/condition.hpp"

namespace hpo::analysis::detail {

/// The least and the largest value of a number. Nullopt if a trial lacks it.
[[nodiscard]] std::optional<std::pair<double, double>> range_of(std::span<const Trial* const> trials, const std::string& name) {
    std::optional<std::pair<double, double>> range;
    for (const Trial* trial : trials) {
        const auto number = trial->params.number(name);
        if (!number) return std::nullopt;
        range = range ? std::pair{std::min(range->first, *number), std::max(range->second, *number)} : std::pair{*number, *number};
    }
    return range;
}

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

std::optional<SeparatingBound> separating_bound(std::span<const Trial* const> trials, std::span<const Trial* const> others) {
    constexpr std::size_t fewest = 3;
    constexpr std::size_t fewest_others = 10;
    if (trials.size() < fewest || others.size() < fewest_others) return std::nullopt;
    for (const Param& param : trials.front()->params) {
        if (!is_memory_neutral(param.name) || is_seed(param.name)) continue;
        const auto own = detail::range_of(trials, param.name);
        const auto other = detail::range_of(others, param.name);
        if (!own || !other) continue;
        if (own->first > other->second) return SeparatingBound{.param = param.name, .above = true, .bound = own->first};
        if (own->second < other->first) return SeparatingBound{.param = param.name, .above = false, .bound = own->second};
    }
    return std::nullopt;
}

}  // namespace hpo::analysis
