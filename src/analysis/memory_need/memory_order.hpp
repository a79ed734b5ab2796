// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/memory_need/memory_axis.hpp"
#include "analysis/memory_need/memory_model.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/core/plan_text.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// Says which of two trials needs at least as much memory as the other, if that is certain. It looks at the plan and at all parameters of
/// the study, except those that are neutral by name. Values without a known direction are compared for equality only.
class MemoryOrder {
public:
    using Point = std::vector<double>;  ///< one coordinate for each axis; with a direction, larger needs more; NaN: missing

    /// The axes are the parameters of `trials`. A number has the direction of its name, or else the one that is certain from measured
    /// peaks. It has none if the two disagree, or if the trials contradict its name.
    MemoryOrder(std::span<const Trial> trials, const MemoryModel& model);

    [[nodiscard]] std::span<const MemoryAxis> axes() const noexcept { return axes_; }
    /// The index of the plan's first axis, which is the micro-batch.
    [[nodiscard]] std::size_t plan_begin() const noexcept { return plan_begin_; }

    /// The point of a trial with these parameters and this plan. A study that another program ran has no plan.
    [[nodiscard]] Point point_of(const ParamSet& params, const ExecutionPlan* plan);

    /// Calls `visit` for each member of the plan that is an axis of choices, in the order of the axes.
    template <class Visit>
    static void each_lever(Visit&& visit) {
        each_plan_field([&](const auto& field) {
            if (field.unit == PlanUnit::none) visit(field);
        });
    }

    /// Whether a larger coordinate on this axis needs at least as much.
    [[nodiscard]] bool is_ordered(std::size_t axis) const {
        return axes_[axis].kind == MemoryAxis::Kind::presence || axes_[axis].direction != 0;
    }
    /// Whether `a` needs at least as much as `b` on one axis.
    [[nodiscard]] bool at_least(std::size_t axis, const Point& a, const Point& b) const {
        return a[axis] == b[axis] || (std::isnan(a[axis]) && std::isnan(b[axis])) || (is_ordered(axis) && a[axis] > b[axis]);
    }
    /// The same on all axes, as far as measured peaks show. A number without a direction does not count if it does not explain the peaks.
    [[nodiscard]] bool at_least_as_measured(const Point& a, const Point& b) const;
    [[nodiscard]] bool is_unseen(std::size_t axis) const { return axes_[axis].unseen && !is_ordered(axis); }

private:
    /// Memory grows linearly with a batch, and at most with the square of most sizes. It may grow faster if the peaks say so, because their
    /// slope is a mean. Networks often double their width from level to level, which no power bounds.
    [[nodiscard]] static double most_power(std::string_view param, double slope);

    static constexpr double absent = std::numeric_limits<double>::quiet_NaN();

    /// Only whether a plan names cards matters here, not which ones.
    template <class T>
    [[nodiscard]] static std::string lever_text(const PlanField<T>& field, const ExecutionPlan& plan) {
        std::string text = plan_words(field, plan.*field.member);
        return field.role == PlanRole::placement ? text.substr(0, text.find(':')) : text;
    }

    [[nodiscard]] static bool has_numbers(const Distribution& distribution);

    void read_params(std::span<const Trial> trials);

    [[nodiscard]] double coordinate(std::size_t axis, const Param* param);
    [[nodiscard]] double choice(std::size_t axis, const std::string& text) {
        return static_cast<double>(choices_[axis].emplace(text, choices_[axis].size()).first->second);
    }

    std::vector<MemoryAxis> axes_;
    std::vector<std::map<std::string, std::size_t>> choices_;
    std::size_t plan_begin_ = 0;
};

}  // namespace hpo::analysis
