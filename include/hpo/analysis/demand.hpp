// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/analysis/condition.hpp"
#include "hpo/analysis/region_learner.hpp"

namespace hpo::analysis {

/// A parameter that memory depends on, as far as the study shows.
struct DemandAxis {
    std::string param;
    int direction = 0;  ///< +1: larger values need more; -1: smaller ones; 0: choices, which only compare as equal
};

namespace detail {

/// What each example needs, on a log scale: its peak, and above every peak for those that did not fit. Without peaks: 1 for those
/// that did not fit, 0 for the others. Nothing for an example that says nothing.
[[nodiscard]] inline std::vector<std::optional<double>> demands(std::span<const Example> examples) {
    double highest = 0;
    std::size_t known = 0, negatives = 0;
    for (const Example& example : examples) {
        if (example.positive) continue;
        ++negatives;
        if (!example.peak_bytes || *example.peak_bytes <= 0) continue;
        ++known;
        highest = std::max(highest, *example.peak_bytes);
    }
    const bool use_peaks = known >= 8 && 2 * known >= negatives;
    std::vector<std::optional<double>> result;
    for (const Example& example : examples) {
        if (!use_peaks) result.emplace_back(example.positive ? 1.0 : 0.0);
        else if (example.positive) result.emplace_back(std::log(highest * 1.2));
        else if (example.peak_bytes && *example.peak_bytes > 0) result.emplace_back(std::log(*example.peak_bytes));
        else result.emplace_back(std::nullopt);
    }
    return result;
}

/// How one parameter explains the residual: the fitted value of each example that has it.
struct AxisFit {
    double explained = 0;  ///< sum of squares
    double freedom = 1;
    int direction = 0;
    std::vector<double> fitted;
};

[[nodiscard]] inline AxisFit fit_axis(std::span<const Example> examples, std::span<const std::optional<double>> residual,
                                      const std::string& name) {
    AxisFit fit{.fitted = std::vector<double>(examples.size())};
    struct Group {
        Value value;
        double sum = 0;
        double count = 0;
    };
    std::vector<Group> groups;
    std::vector<std::pair<std::size_t, double>> numbers;
    bool numeric = true, positive = true;
    for (std::size_t i = 0; i < examples.size(); ++i) {
        const auto value = residual[i] ? examples[i].params->value(name) : std::nullopt;
        if (!value) continue;
        numeric = numeric && (std::holds_alternative<double>(*value) || std::holds_alternative<std::int64_t>(*value));
        numbers.emplace_back(i, examples[i].params->number(name).value_or(0));
        positive = positive && numbers.back().second > 0;
        auto found = std::ranges::find(groups, *value, &Group::value);
        if (!numeric && found == groups.end()) found = groups.insert(groups.end(), Group{.value = *value});
        if (!numeric) {
            found->sum += *residual[i];
            ++found->count;
        }
    }
    if (numbers.size() < 6) return fit;
    if (!numeric) {
        if (groups.size() < 2 || groups.size() > numbers.size() / 2) return fit;
        fit.freedom = static_cast<double>(groups.size() - 1);
        for (const auto& [i, unused] : numbers) {
            const auto group = std::ranges::find(groups, *examples[i].params->value(name), &Group::value);
            fit.fitted[i] = group->sum / group->count;
        }
    } else {
        double x = 0, y = 0, xx = 0, xy = 0;
        const auto n = static_cast<double>(numbers.size());
        for (auto& [i, value] : numbers) {
            if (positive) value = std::log(value);
            x += value;
            y += *residual[i];
            xx += value * value;
            xy += value * *residual[i];
        }
        const double spread = xx - x * x / n;
        if (!(spread > 1e-12 * (1 + xx))) return fit;
        const double slope = (xy - x * y / n) / spread;
        fit.direction = slope > 0 ? 1 : -1;
        for (const auto& [i, value] : numbers) fit.fitted[i] = y / n + slope * (value - x / n);
    }
    for (const auto& [i, unused] : numbers) {
        fit.explained += *residual[i] * *residual[i] - (*residual[i] - fit.fitted[i]) * (*residual[i] - fit.fitted[i]);
    }
    return fit;
}

}  // namespace detail

/// The parameters that memory depends on, by forward selection: each step takes the parameter that explains most of what is left of
/// the trials' demand (peaks where they are known, else whether they fitted), as long as chance does that less than once in a hundred. Parameters that memory
/// cannot depend on (seeds, learning rates and their like) are left out.
[[nodiscard]] inline std::vector<DemandAxis> demand_axes(std::span<const Example> examples) {
    std::set<std::string> names;
    for (const Example& example : examples) {
        for (const Param& param : *example.params) {
            if (!is_memory_neutral(param.name)) names.insert(param.name);
        }
    }
    std::vector<std::optional<double>> residual = detail::demands(examples);
    double sum = 0, count = 0;
    for (const auto& value : residual) {
        sum += value.value_or(0);
        count += value ? 1 : 0;
    }
    for (auto& value : residual) {
        if (value) *value -= sum / count;
    }
    std::vector<DemandAxis> axes;
    double used = 1;
    while (!names.empty()) {
        double left = 0;
        for (const auto& value : residual) left += value ? *value * *value : 0;
        std::string best;
        detail::AxisFit best_fit;
        double best_excess = 1;
        for (const std::string& name : names) {
            detail::AxisFit fit = detail::fit_axis(examples, residual, name);
            const double remaining_freedom = count - used - fit.freedom;
            if (remaining_freedom < 3) continue;
            const double f = fit.explained / fit.freedom / std::max((left - fit.explained) / remaining_freedom, 1e-12);
            const double excess = f / (2.3 + 4.7 / fit.freedom);  // near the 1 % points of F
            if (excess <= best_excess) continue;
            best_excess = excess;
            best = name;
            best_fit = std::move(fit);
        }
        if (best.empty()) break;
        for (std::size_t i = 0; i < residual.size(); ++i) {
            if (residual[i]) *residual[i] -= best_fit.fitted[i];
        }
        used += best_fit.freedom;
        axes.push_back({.param = best, .direction = best_fit.direction});
        names.erase(best);
    }
    return axes;
}

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
