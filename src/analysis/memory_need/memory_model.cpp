// SPDX-License-Identifier: MIT
#include "analysis/memory_need/memory_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <range/v3/view/zip.hpp>

#include "analysis/memory_need/evenly_spaced.hpp"
#include "analysis/memory_need/param_names.hpp"

namespace hpo::analysis {

MemoryModel::MemoryModel(std::span<const Example> all) {
    const std::vector<Example> examples = evenly_spaced(all, 1000);
    read_demand(examples);
    std::set<std::string> names;
    for (const Example& example : examples) {
        for (const Param& param : *example.params) {
            if (!is_memory_neutral(param.name)) names.insert(param.name);
        }
    }
    double sum = 0;
    for (const auto& value : residual_) {
        sum += value.value_or(0);
        count_ += value ? 1 : 0;
    }
    if (count_ < 6) return;
    mean_ = sum / count_;
    for (auto& value : residual_) {
        if (value) *value -= mean_;
    }
    for (const std::string& name : names) {
        if (shrinks(examples, name, 1)) shrinking_.insert(name);
    }
    select(examples, names);
    for (int round = 0; round < 20 && !terms_.empty(); ++round) {  // backfitting: the order of selection then does not matter
        for (MemoryTerm& term : terms_) {
            subtract(examples, term, -1);
            if (auto again = fit(examples, term.axis.param)) term = std::move(*again);
            subtract(examples, term, 1);
        }
    }
    spread_ = std::sqrt(left() / std::max(count_ - used_, 1.0));
    const double error = spread_ * spread_;
    for (MemoryTerm& term : terms_) {
        subtract(examples, term, -1);
        // Six standard errors, because there are dozens of parameters and samplers do not draw them independently.
        term.certain = from_peaks_ && explained(examples, term) > 36 * std::max(error, 1e-12);
        subtract(examples, term, 1);
        axes_.push_back(term.axis);
        names.erase(term.axis.param);
    }
    for (const std::string& name : names) {
        if (shrinks(examples, name, 0)) shrinking_.insert(name);
        if (from_peaks_) bound_effect(examples, name);
    }
}

std::optional<double> MemoryModel::most_effect(const std::string& param, double a, double b) const {
    const auto found = effects_.find(param);
    if (found == effects_.end()) return std::nullopt;
    const auto& [logarithmic, slope, lowest, highest] = found->second;
    if (std::min(a, b) < lowest || std::max(a, b) > highest) return std::nullopt;
    return slope * std::fabs(logarithmic ? std::log(a / b) : a - b);
}

std::optional<double> MemoryModel::bytes(const ParamSet& params, double deviations) const {
    if (!from_peaks_ || terms_.empty()) return std::nullopt;
    double demand = mean_ + deviations * spread_;
    for (const MemoryTerm& term : terms_) {
        const auto part = term.at(params);
        if (!part) return std::nullopt;
        demand += *part;
    }
    return std::exp(demand);
}

void MemoryModel::read_demand(std::span<const Example> examples) {
    double highest = 0;
    std::size_t known = 0;
    std::size_t negatives = 0;
    for (const Example& example : examples) {
        if (example.positive) continue;
        ++negatives;
        if (!example.peak_bytes || *example.peak_bytes <= 0) continue;
        ++known;
        highest = std::max(highest, *example.peak_bytes);
    }
    from_peaks_ = known >= 8 && 2 * known >= negatives;
    for (const Example& example : examples) {
        if (!from_peaks_) residual_.emplace_back(example.positive ? 1.0 : 0.0);
        else if (example.positive) residual_.emplace_back(std::log(highest * 1.2));
        else if (example.peak_bytes && *example.peak_bytes > 0) residual_.emplace_back(std::log(*example.peak_bytes));
        else residual_.emplace_back(std::nullopt);
    }
}

double MemoryModel::left() const {
    double sum = 0;
    for (const auto& value : residual_) sum += value ? *value * *value : 0;
    return sum;
}

void MemoryModel::subtract(std::span<const Example> examples, const MemoryTerm& term, double sign) {
    for (auto&& [residual, example] : ranges::views::zip(residual_, examples)) {
        if (residual) *residual -= sign * term.at(*example.params).value_or(0);
    }
}

double MemoryModel::explained(std::span<const Example> examples, const MemoryTerm& term) const {
    double sum = 0;
    for (const auto& [residual, example] : ranges::views::zip(residual_, examples)) {
        if (!residual) continue;
        const double rest = *residual - term.at(*example.params).value_or(0);
        sum += *residual * *residual - rest * rest;
    }
    return sum;
}

bool MemoryModel::shrinks(std::span<const Example> examples, const std::string& name, double errors) const {
    const auto line = fit(examples, name);
    if (!line || line->axis.direction >= 0) return false;
    const double gain = explained(examples, *line);
    return gain * (count_ - 2) > errors * errors * (left() - gain);
}

void MemoryModel::bound_effect(std::span<const Example> examples, const std::string& name) {
    constexpr std::size_t enough = 20;
    const auto term = fit(examples, name);
    if (!term || term->axis.kind != MemoryAxis::Kind::number) return;
    Effect effect{.logarithmic = term->logarithmic};
    std::size_t measured = 0;
    double squares = 0;  // squared distances from the centre
    double rest = 0;     // squared residuals of the line
    std::size_t points = 0;
    for (const auto& [residual, example] : ranges::views::zip(residual_, examples)) {
        const auto number = residual ? example.params->number(name) : std::nullopt;
        if (!number) continue;
        const double distance = (term->logarithmic ? std::log(*number) : *number) - term->centre;
        squares += distance * distance;
        rest += std::pow(*residual - term->level - term->slope * distance, 2);
        ++points;
        if (example.positive) continue;
        effect.lowest = measured == 0 ? *number : std::min(effect.lowest, *number);
        effect.highest = measured == 0 ? *number : std::max(effect.highest, *number);
        ++measured;
    }
    if (measured < enough) return;
    effect.slope = std::fabs(term->slope) + 3 * std::sqrt(rest / static_cast<double>(points - 2) / squares);
    effects_.emplace(name, effect);
}

void MemoryModel::select(std::span<const Example> examples, std::set<std::string>& names) {
    while (!names.empty()) {
        std::optional<MemoryTerm> best;
        double best_excess = 1;
        for (const std::string& name : names) {
            auto term = fit(examples, name);
            const double remaining_freedom = count_ - used_ - (term ? term->freedom : 0);
            if (!term || remaining_freedom < 3) continue;
            const double gain = explained(examples, *term);
            const double f = gain / term->freedom / std::max((left() - gain) / remaining_freedom, 1e-12);
            const double excess = f / (2.3 + 4.7 / term->freedom);  // near the 1 % points of F
            if (excess <= best_excess) continue;
            best_excess = excess;
            best = std::move(term);
        }
        if (!best) return;
        subtract(examples, *best, 1);
        used_ += best->freedom;
        names.erase(best->axis.param);
        terms_.push_back(std::move(*best));
    }
}

std::optional<MemoryTerm> MemoryModel::fit(std::span<const Example> examples, const std::string& name) const {
    MemoryTerm term;
    term.axis.param = name;
    std::vector<std::pair<double, double>> points;
    std::vector<double> counts;
    bool numeric = true;
    term.logarithmic = true;
    for (const auto& [residual, example] : ranges::views::zip(residual_, examples)) {
        const auto value = residual ? example.params->value(name) : std::nullopt;
        if (!value) continue;
        numeric = numeric && (std::holds_alternative<double>(*value) || std::holds_alternative<std::int64_t>(*value));
        points.emplace_back(example.params->number(name).value_or(0), *residual);
        term.logarithmic = term.logarithmic && points.back().first > 0;
        if (numeric) continue;
        auto found = std::ranges::find(term.levels, *value, &std::pair<Value, double>::first);
        if (found == term.levels.end()) {
            found = term.levels.insert(found, {*value, 0.0});
            counts.push_back(0);
        }
        found->second += *residual;
        counts[static_cast<std::size_t>(found - term.levels.begin())] += 1;
    }
    if (points.size() < 6) return std::nullopt;
    if (!numeric) {
        if (term.levels.size() < 2 || term.levels.size() > points.size() / 2) return std::nullopt;
        term.axis.kind = MemoryAxis::Kind::choice;
        for (auto&& [level, count] : ranges::views::zip(term.levels, counts)) level.second /= count;
        term.freedom = static_cast<double>(term.levels.size() - 1);
        return term;
    }
    double xx = 0;
    double xy = 0;
    for (auto& [x, y] : points) {
        if (term.logarithmic) x = std::log(x);
        term.centre += x / static_cast<double>(points.size());
        term.level += y / static_cast<double>(points.size());
    }
    for (const auto& [x, y] : points) {
        xx += (x - term.centre) * (x - term.centre);
        xy += (x - term.centre) * y;
    }
    if (!(xx > 1e-12)) return std::nullopt;
    term.slope = xy / xx;
    term.axis.direction = term.slope > 0 ? 1 : -1;
    return term;
}

}  // namespace hpo::analysis
