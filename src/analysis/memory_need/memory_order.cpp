// SPDX-License-Identifier: MIT
#include "analysis/memory_need/memory_order.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/memory_need/param_names.hpp"

namespace hpo::analysis {

MemoryOrder::MemoryOrder(std::span<const Trial> trials, const MemoryModel& model) {
    read_params(trials);
    for (MemoryAxis& axis : axes_) {
        if (axis.kind != MemoryAxis::Kind::number) continue;
        const int name = direction_by_name(axis.param);
        const int peaks = model.certain_direction(axis.param);
        axis.direction = name == 0 || peaks == 0 ? name + peaks : name == peaks ? name : 0;
        if (name > 0 && model.speaks_against_growth(axis.param)) axis.direction = 0;
        const MemoryTerm* term = model.term(axis.param);
        axis.unseen = !term && model.has_peaks();
        axis.power = most_power(axis.param, term && term->logarithmic ? std::fabs(term->slope) : 0);
    }
    plan_begin_ = axes_.size();
    if (std::ranges::any_of(trials, [](const Trial& trial) { return !trial.attempts.empty(); })) {
        axes_.push_back({.param = "micro-batch", .direction = 1, .power = 1});
        each_lever([&](const auto& field) {
            axes_.push_back({.param = std::string{field.label}, .direction = 0, .kind = MemoryAxis::Kind::choice});
        });
    }
    choices_.resize(axes_.size());
}

MemoryOrder::Point MemoryOrder::point_of(const ParamSet& params, const ExecutionPlan* plan) {
    Point point;
    point.reserve(axes_.size());
    for (std::size_t i = 0; i < plan_begin_; ++i) point.push_back(coordinate(i, params.find(axes_[i].param)));
    if (plan_begin_ == axes_.size()) return point;
    const auto micro = plan ? plan->effective_micro_batch() : std::nullopt;
    point.push_back(micro ? static_cast<double>(*micro) : absent);
    each_lever([&](const auto& field) { point.push_back(plan ? choice(point.size(), lever_text(field, *plan)) : absent); });
    return point;
}

bool MemoryOrder::at_least_as_measured(const Point& a, const Point& b) const {
    for (std::size_t i = 0; i < axes_.size(); ++i) {
        if (!at_least(i, a, b) && !(is_unseen(i) && std::isnan(a[i]) == std::isnan(b[i]))) return false;
    }
    return true;
}

double MemoryOrder::most_power(std::string_view param, double slope) {
    if (counts_levels(param)) return 1000;
    const bool batch = last_part(param).find("batch") != std::string_view::npos;
    if (batch && slope < 1.1) return 1;
    return std::max(2.0, slope + 1);
}

bool MemoryOrder::has_numbers(const Distribution& distribution) {
    const auto* choices = std::get_if<CategoricalDistribution>(&distribution);
    return !choices || std::ranges::all_of(choices->choices, [](const Value& value) {
        return std::holds_alternative<double>(value) || std::holds_alternative<std::int64_t>(value);
    });
}

void MemoryOrder::read_params(std::span<const Trial> trials) {
    struct Seen {
        std::string_view name;
        const Distribution* distribution = nullptr;
    };
    std::vector<Seen> seen;  // by position, since most trials share the order and the distributions
    constexpr std::size_t none = static_cast<std::size_t>(-1);
    std::map<std::string_view, std::size_t> known;  // parameter name to its axis, if it has one
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
                axes_.push_back({.param = param.name, .kind = neutral ? MemoryAxis::Kind::presence : MemoryAxis::Kind::number});
            }
            if (found->second == none || numbers) continue;
            auto& kind = axes_[found->second].kind;
            if (kind == MemoryAxis::Kind::number) kind = MemoryAxis::Kind::choice;
        }
    }
}

double MemoryOrder::coordinate(std::size_t axis, const Param* param) {
    const MemoryAxis& own = axes_[axis];
    const bool presence = own.kind == MemoryAxis::Kind::presence;
    if (!param) return presence ? 0.0 : absent;
    const Value value = param->value();
    if (own.kind == MemoryAxis::Kind::choice) return choice(axis, json_text(value));
    const auto* whole = std::get_if<std::int64_t>(&value);
    const auto* real = std::get_if<double>(&value);
    const double number = whole ? static_cast<double>(*whole) : real ? *real : 0.0;
    if (presence) return number == 0 ? 0.0 : 1.0;
    return own.direction < 0 ? -number : number;
}

}  // namespace hpo::analysis
