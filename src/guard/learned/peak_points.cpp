// SPDX-License-Identifier: MIT
#include "hpo/guard/learned/peak_points.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "hpo/guard/calibration/observation.hpp"

namespace hpo::guard {

namespace detail {

/// The bounds of a number's distribution, or nullopt for a category.
std::optional<std::pair<double, double>> bounds_of(const Distribution& distribution) {
    if (const auto* real = std::get_if<FloatDistribution>(&distribution)) return std::pair{real->low, real->high};
    if (const auto* whole = std::get_if<IntDistribution>(&distribution))
        return std::pair{static_cast<double>(whole->low), static_cast<double>(whole->high)};
    const auto& choices = std::get<CategoricalDistribution>(distribution).choices;
    std::optional<std::pair<double, double>> bounds;
    for (const Value& choice : choices) {  // a list of numbers, such as 16, 32, 64, is a number
        const auto* whole = std::get_if<std::int64_t>(&choice);
        const auto* real = std::get_if<double>(&choice);
        if (!whole && !real) return std::nullopt;
        const double number = whole ? static_cast<double>(*whole) : *real;
        bounds = bounds ? std::pair{std::min(bounds->first, number), std::max(bounds->second, number)} : std::pair{number, number};
    }
    return bounds;
}

/// True if the values of a number are whole ones.
bool is_whole(const Distribution& distribution) {
    if (const auto* choice = std::get_if<CategoricalDistribution>(&distribution))
        return std::ranges::all_of(choice->choices, [](const Value& value) { return std::get_if<std::int64_t>(&value) != nullptr; });
    return std::get_if<IntDistribution>(&distribution) != nullptr;
}

}  // namespace detail

void PeakPoints::add(std::span<const Trial> trials, const std::string& device_name) {
    for (const Trial& trial : trials) {
        for (const Attempt& attempt : trial.attempts) {
            if (!attempt.outcome || attempt.device_name != device_name) continue;
            const bool ended = !attempt.failure && (attempt.outcome == OutcomeKind::complete || attempt.outcome == OutcomeKind::stopped);
            std::optional<std::int64_t> bytes;
            if (ended) {
                ++ended_;
                if (const auto need = measured_need(attempt)) bytes = need->least;
            } else {
                bytes = least_need(attempt);
            }
            if (!bytes || *bytes <= 0) continue;
            points_.push_back({&params_of(trial, attempt), &attempt.plan, attempt.plan.effective_micro_batch(),
                               attempt.plan.effective_batch, std::log(static_cast<double>(*bytes)), !ended});
        }
    }
}

void PeakPoints::add_borrowed(const PeakPoints& others) {
    for (Point point : others.points_) {
        point.borrowed = true;
        points_.push_back(point);
    }
}

void PeakPoints::keep_known(const Names& names) {
    std::erase_if(points_, [&](const Point& point) {
        return !std::ranges::all_of(*point.params, [&](const Param& param) { return names.contains(param.name); });
    });
}

void PeakPoints::thin_out(std::size_t most) {
    if (points_.size() <= most) return;
    const std::size_t latest = most / 2, earlier = points_.size() - latest;
    std::vector<Point> kept;
    kept.reserve(most);
    for (std::size_t i = 0; i < most - latest; ++i) kept.push_back(points_[i * earlier / (most - latest)]);
    kept.insert(kept.end(), points_.end() - static_cast<std::ptrdiff_t>(latest), points_.end());
    points_ = std::move(kept);
}

std::size_t PeakPoints::measured() const {
    return points_.size() - static_cast<std::size_t>(std::ranges::count_if(points_, &Point::censored));
}

PeakPoints::Names PeakPoints::parameters() const {
    Names names;
    for (const Point& point : points_) {
        for (const Param& param : *point.params) {
            if (!names.contains(param.name)) names.insert(param.name);
        }
    }
    return names;
}

void PeakPoints::learn_inputs() {
    inputs_.clear();
    bool has_micro_batch = false;
    for (const Point& point : points_) {
        has_micro_batch = has_micro_batch || point.micro_batch;
        for (const Param& param : *point.params) learn_input(param);
    }
    if (has_micro_batch) inputs_.push_back({.name = {}, .model = {.kind = LawData::Kind::amount, .logarithmic = true}, .is_whole = true});
}

void PeakPoints::learn_input(const Param& param) {
    const auto known = std::ranges::find(inputs_, param.name, &Input::name);
    if (known != inputs_.end()) {  // another study may have other choices
        if (known->model.kind != LawData::Kind::category) return;
        Value value = param.value();
        if (std::ranges::find(known->values, value) == known->values.end()) known->values.push_back(std::move(value));
        return;
    }
    if (is_effective_batch(param.name)) return;
    Input input{.name = param.name, .model = {.kind = LawData::Kind::category}};
    if (const auto bounds = detail::bounds_of(*param.distribution)) {
        input.model.kind = bounds->first < 0 ? LawData::Kind::other : LawData::Kind::amount;
        input.model.logarithmic = bounds->first > 0;
        input.model.scale = std::max({std::abs(bounds->first), std::abs(bounds->second), 1e-300});
        input.is_whole = detail::is_whole(*param.distribution);
    } else {
        input.values = std::get<CategoricalDistribution>(*param.distribution).choices;
    }
    inputs_.push_back(std::move(input));
}

std::vector<PeakModel::Input> PeakPoints::model_inputs() const {
    std::vector<PeakModel::Input> all;
    for (const Input& input : inputs_) all.push_back(input.model);
    return all;
}

bool PeakPoints::is_effective_batch(const std::string& name) const {
    return std::ranges::all_of(points_, [&](const Point& point) {
        const auto value = point.params->number(name);
        return point.effective_batch && value && *value == static_cast<double>(*point.effective_batch);
    });
}

std::vector<double> PeakPoints::row(const ParamSet& params, const std::optional<std::int64_t>& micro_batch) const {
    std::vector<double> row;
    row.reserve(inputs_.size());
    for (const Input& input : inputs_) {
        std::optional<double> number;
        if (input.name.empty()) {
            if (micro_batch) number = static_cast<double>(*micro_batch);
        } else if (const Param* const param = params.find(input.name, row.size())) {
            const Value value = param->value();
            const auto* whole = std::get_if<std::int64_t>(&value);
            const auto* real = std::get_if<double>(&value);
            if (input.model.kind == LawData::Kind::category)  // one that no point has is after all others
                number = static_cast<double>(std::ranges::find(input.values, value) - input.values.begin());
            else if (whole || real) number = whole ? static_cast<double>(*whole) : *real;
        }
        const bool is_amount = input.model.kind == LawData::Kind::amount;  // another study may have another range
        const bool is_absent = !number || (input.model.logarithmic && *number <= 0) || (is_amount && *number < 0);
        row.push_back(is_absent ? std::numeric_limits<double>::quiet_NaN() : *number);
    }
    return row;
}

bool PeakPoints::knows(const ParamSet& params) const {
    return std::ranges::all_of(params, [&](const Param& param) {
        return std::ranges::find(inputs_, param.name, &Input::name) != inputs_.end() || is_effective_batch(param.name);
    });
}

LawData PeakPoints::data() const {
    LawData data;
    for (const Input& input : inputs_) data.kinds.push_back(input.model.kind);
    for (const Point& point : points_) {
        data.rows.push_back(row(*point.params, point.micro_batch));
        data.log_bytes.push_back(point.log_bytes);
        data.censored.push_back(point.censored);
        data.borrowed.push_back(point.borrowed);
    }
    return data;
}

}  // namespace hpo::guard
