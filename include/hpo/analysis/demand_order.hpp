// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
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
    DemandOrder(std::span<const Trial> trials, const DemandModel& model) {
        read_params(trials);
        for (DemandAxis& axis : axes_) {
            if (axis.kind != DemandAxis::Kind::number) continue;
            const int name = direction_by_name(axis.param);
            const int peaks = model.certain_direction(axis.param);
            axis.direction = name == 0 || peaks == 0 ? name + peaks : name == peaks ? name : 0;
            if (name > 0 && model.speaks_against_growth(axis.param)) axis.direction = 0;
            const DemandTerm* term = model.term(axis.param);
            axis.unseen = !term && model.has_peaks();
            axis.power = most_power(axis.param, term && term->logarithmic ? std::fabs(term->slope) : 0);
        }
        plan_begin_ = axes_.size();
        if (std::ranges::any_of(trials, [](const Trial& trial) { return !trial.attempts.empty(); })) {
            axes_.push_back({.param = "micro-batch", .direction = 1, .power = 1});
            each_lever([&](const auto& field) {
                axes_.push_back({.param = std::string{field.label}, .direction = 0, .kind = DemandAxis::Kind::choice});
            });
        }
        choices_.resize(axes_.size());
    }

    [[nodiscard]] std::span<const DemandAxis> axes() const noexcept { return axes_; }
    /// The axes from here on are the plan's, the micro-batch first.
    [[nodiscard]] std::size_t plan_begin() const noexcept { return plan_begin_; }

    /// Where a trial lies that ran with these parameters under this plan; none for a study that another program ran.
    [[nodiscard]] Point point_of(const ParamSet& params, const ExecutionPlan* plan) {
        Point point;
        point.reserve(axes_.size());
        for (std::size_t i = 0; i < plan_begin_; ++i) point.push_back(coordinate(i, params.find(axes_[i].param)));
        if (plan_begin_ == axes_.size()) return point;
        const auto micro = plan ? plan->effective_micro_batch() : std::nullopt;
        point.push_back(micro ? static_cast<double>(*micro) : absent);
        each_lever([&](const auto& field) { point.push_back(plan ? choice(point.size(), lever_text(field, *plan)) : absent); });
        return point;
    }

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
    [[nodiscard]] bool at_least_as_measured(const Point& a, const Point& b) const {
        for (std::size_t i = 0; i < axes_.size(); ++i) {
            if (!at_least(i, a, b) && !(is_unseen(i) && std::isnan(a[i]) == std::isnan(b[i]))) return false;
        }
        return true;
    }
    [[nodiscard]] bool is_unseen(std::size_t axis) const { return axes_[axis].unseen && !is_ordered(axis); }

private:
    /// Memory grows with a batch in a straight line, and with most sizes by their square at most; faster where the peaks say so, as their
    /// slope is a mean. Networks often double their width from one level to the next: no power bounds that.
    [[nodiscard]] static double most_power(std::string_view param, double slope) {
        if (counts_levels(param)) return 1000;
        const bool batch = last_part(param).find("batch") != std::string_view::npos;
        if (batch && slope < 1.1) return 1;
        return std::max(2.0, slope + 1);
    }

    static constexpr double absent = std::numeric_limits<double>::quiet_NaN();

    /// Which cards a plan names does not matter here, but whether it is one.
    template <class T>
    [[nodiscard]] static std::string lever_text(const PlanField<T>& field, const ExecutionPlan& plan) {
        std::string text = plan_words(field, plan.*field.member);
        return field.role == PlanRole::placement ? text.substr(0, text.find(':')) : text;
    }

    [[nodiscard]] static bool has_numbers(const Distribution& distribution) {
        const auto* choices = get_if<CategoricalDistribution>(&distribution);
        return !choices ||
               std::ranges::all_of(choices->choices, [](const Value& value) { return holds<double>(value) || holds<std::int64_t>(value); });
    }

    void read_params(std::span<const Trial> trials) {
        struct Seen {
            std::string_view name;
            const Distribution* distribution = nullptr;
        };
        std::vector<Seen> seen;  // at each place: trials mostly agree on the order and share their distributions
        constexpr std::size_t none = static_cast<std::size_t>(-1);
        std::map<std::string_view, std::size_t> known;  // to the axis, where there is one
        for (const Trial& trial : trials) {
            std::size_t place = 0;
            for (const Param& param : trial.params) {
                if (place == seen.size()) seen.emplace_back();
                Seen& last = seen[place++];
                if (last.distribution == param.distribution.get() && last.name == param.name) continue;
                last = {.name = param.name, .distribution = param.distribution.get()};
                const bool numbers = has_numbers(*param.distribution);
                const auto [found, is_new] = known.emplace(param.name, none);
                if (is_new) {
                    const bool neutral = is_memory_neutral(param.name);
                    if (is_seed(param.name) || (neutral && !numbers)) continue;
                    found->second = axes_.size();
                    axes_.push_back({.param = param.name, .kind = neutral ? DemandAxis::Kind::presence : DemandAxis::Kind::number});
                }
                if (found->second == none || numbers) continue;
                auto& kind = axes_[found->second].kind;
                if (kind == DemandAxis::Kind::number) kind = DemandAxis::Kind::choice;
            }
        }
    }

    [[nodiscard]] double coordinate(std::size_t axis, const Param* param) {
        const DemandAxis& own = axes_[axis];
        const bool presence = own.kind == DemandAxis::Kind::presence;
        if (!param) return presence ? 0.0 : absent;
        const Value value = param->value();
        if (own.kind == DemandAxis::Kind::choice) return choice(axis, json_text(value));
        const auto* whole = get_if<std::int64_t>(&value);
        const auto* real = get_if<double>(&value);
        const double number = whole ? static_cast<double>(*whole) : real ? *real : 0.0;
        if (presence) return number == 0 ? 0.0 : 1.0;
        return own.direction < 0 ? -number : number;
    }
    [[nodiscard]] double choice(std::size_t axis, const std::string& text) {
        return static_cast<double>(choices_[axis].emplace(text, choices_[axis].size()).first->second);
    }

    std::vector<DemandAxis> axes_;
    std::vector<std::map<std::string, std::size_t>> choices_;
    std::size_t plan_begin_ = 0;
};

}  // namespace hpo::analysis
