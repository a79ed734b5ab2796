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

#include "hpo/analysis/demand.hpp"
#include "hpo/analysis/demand_model.hpp"
#include "hpo/core/plan_fields.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// Says which of two trials needs at least as much memory as the other, as far as that is certain. It looks at everything that memory can
/// depend on: every parameter of the study but those that are neutral by name, and the plan. What is not known to be easier or harder
/// compares only where it is equal.
class DemandOrder {
public:
    using Point = std::vector<double>;  ///< one coordinate an axis, larger needs more where there is a direction; NaN: not there

    /// The axes are the parameters of `trials`. A number has the direction of its name, else the one that measured peaks leave no doubt
    /// about. It has none if the two disagree, or if the trials speak against its name.
    DemandOrder(std::span<const Trial> trials, const DemandModel& model);

    [[nodiscard]] std::span<const DemandAxis> axes() const noexcept { return axes_; }
    /// The axes from here on are the plan's, the micro-batch first.
    [[nodiscard]] std::size_t plan_begin() const noexcept { return plan_begin_; }

    /// Where a trial lies that ran with these parameters under this plan; none for a study that another program ran.
    [[nodiscard]] Point point_of(const ParamSet& params, const ExecutionPlan* plan);

    /// Calls `visit` with each member of the plan that has an axis of choices, in the order of the axes.
    template <class Visit>
    static void each_lever(Visit&& visit) {
        each_plan_field([&](const auto& field) {
            if (field.unit == PlanUnit::none) visit(field);
        });
    }

    /// Whether more on this axis needs at least as much.
    [[nodiscard]] bool is_ordered(std::size_t axis) const {
        return axes_[axis].kind == DemandAxis::Kind::presence || axes_[axis].direction != 0;
    }
    /// On one axis `a` needs at least as much as `b`.
    [[nodiscard]] bool at_least(std::size_t axis, const Point& a, const Point& b) const {
        return a[axis] == b[axis] || (std::isnan(a[axis]) && std::isnan(b[axis])) || (is_ordered(axis) && a[axis] > b[axis]);
    }
    /// On all axes, as far as measured peaks show: a number without a direction that explains nothing of them does not count.
    [[nodiscard]] bool at_least_as_measured(const Point& a, const Point& b) const;
    [[nodiscard]] bool is_unseen(std::size_t axis) const { return axes_[axis].unseen && !is_ordered(axis); }

private:
    /// Memory grows with a batch in a straight line, and with most sizes by their square at most; faster where the peaks say so, as their
    /// slope is a mean. Networks often double their width from one level to the next: no power bounds that.
    [[nodiscard]] static double most_power(std::string_view param, double slope);

    static constexpr double absent = std::numeric_limits<double>::quiet_NaN();

    /// Which cards a plan names does not matter here, but whether it is one.
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

    std::vector<DemandAxis> axes_;
    std::vector<std::map<std::string, std::size_t>> choices_;
    std::size_t plan_begin_ = 0;
};

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/demand_order_inl.hpp"
#endif
