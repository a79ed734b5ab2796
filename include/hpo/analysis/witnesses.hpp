// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/analysis/demand.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// The trials that ran, as points in the axes that memory depends on, so that thousands of failures can be held against thousands of
/// successes. Trials that memory cannot tell apart count once.
class Witnesses {
public:
    using Point = std::vector<double>;  ///< one coordinate an axis, larger needs more; NaN: the trial lacks the parameter
    struct Row {
        const Trial* trial = nullptr;
        Point point;
    };

    Witnesses(std::span<const Trial* const> trials, std::span<const DemandAxis> axes)
        : axes_{axes.begin(), axes.end()}, values_(axes.size()), choices_(axes.size()) {
        std::set<std::pair<std::int64_t, Point>> seen;
        std::vector<std::map<double, const Param*>> distinct(axes.size());
        for (const Trial* trial : trials) {
            Point point = point_of(trial->params);
            Point key = point;
            std::ranges::replace_if(
                key, [](double x) { return std::isnan(x); }, std::numeric_limits<double>::infinity());
            const auto micro = trial->attempts.empty() ? std::nullopt : trial->attempts.back().plan.effective_micro_batch();
            if (!seen.emplace(micro.value_or(0), std::move(key)).second) continue;
            rows_.push_back({.trial = trial, .point = std::move(point)});
            for (std::size_t i = 0; i < axes_.size(); ++i) {
                if (const Param* param = trial->params.find(axes_[i].param)) distinct[i].emplace(param->internal, param);
            }
        }
        for (std::size_t i = 0; i < axes_.size(); ++i) {
            const std::size_t step = distinct[i].size() / 64 + 1;
            std::size_t index = 0;
            for (const auto& [internal, param] : distinct[i]) {
                if (index++ % step == 0) values_[i].push_back(param);
            }
        }
    }

    [[nodiscard]] std::span<const DemandAxis> axes() const noexcept { return axes_; }
    [[nodiscard]] std::span<const Row> rows() const noexcept { return rows_; }
    /// Values of one axis that some trial ran with, at most about 64 of them.
    [[nodiscard]] std::span<const Param* const> values(std::size_t axis) const { return values_[axis]; }

    /// Where these parameters lie; a choice that no witness had gets a coordinate of its own.
    [[nodiscard]] Point point_of(const ParamSet& params) {
        Point point;
        for (std::size_t i = 0; i < axes_.size(); ++i) {
            const Param* param = params.find(axes_[i].param);
            double at = std::numeric_limits<double>::quiet_NaN();
            if (param && axes_[i].direction != 0) at = params.number(param->name).value_or(at) * axes_[i].direction;
            else if (param) at = static_cast<double>(choices_[i].emplace(json_text(param->value()), choices_[i].size()).first->second);
            point.push_back(at);
        }
        return point;
    }

    /// The one axis on which `row` is easier than `point`, given that it is at least as demanding on all others; `axes().size()` when there
    /// is not exactly one.
    [[nodiscard]] std::size_t only_easier_axis(const Row& row, const Point& point) const {
        std::size_t easier = axes_.size();
        for (std::size_t i = 0; i < axes_.size(); ++i) {
            const double a = row.point[i];
            const double b = point[i];
            if ((std::isnan(a) && std::isnan(b)) || a == b || (axes_[i].direction != 0 && a > b)) continue;
            if (easier != axes_.size() || std::isnan(a) || std::isnan(b)) return axes_.size();
            easier = i;
        }
        return easier;
    }

private:
    std::vector<DemandAxis> axes_;
    std::vector<Row> rows_;
    std::vector<std::vector<const Param*>> values_;
    std::vector<std::map<std::string, std::size_t>> choices_;
};

}  // namespace hpo::analysis
