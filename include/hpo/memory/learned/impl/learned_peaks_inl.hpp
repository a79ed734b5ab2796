// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "hpo/base/inline.hpp"
#include "hpo/memory/calibration/normal_tail.hpp"
#include "hpo/memory/calibration/observation.hpp"
#include "hpo/memory/learned/learned_peaks.hpp"

namespace hpo::memory::inline learned {

namespace detail {

constexpr std::string_view micro_batch_input = " micro_batch";  // no parameter's name begins with a space
constexpr double absent = std::numeric_limits<double>::quiet_NaN();

/// The bounds of a number's distribution, or nullopt for a category.
HPO_INLINE std::optional<std::pair<double, double>> bounds_of(const Distribution& distribution) {
    if (const auto* real = get_if<FloatDistribution>(&distribution)) return std::pair{real->low, real->high};
    if (const auto* whole = get_if<IntDistribution>(&distribution))
        return std::pair{static_cast<double>(whole->low), static_cast<double>(whole->high)};
    const auto& choices = get<CategoricalDistribution>(distribution).choices;
    std::optional<std::pair<double, double>> bounds;
    for (const Value& choice : choices) {  // a list of numbers, such as 16, 32, 64, is a number
        const auto* whole = get_if<std::int64_t>(&choice);
        const auto* real = get_if<double>(&choice);
        if (!whole && !real) return std::nullopt;
        const double number = whole ? static_cast<double>(*whole) : *real;
        bounds = bounds ? std::pair{std::min(bounds->first, number), std::max(bounds->second, number)} : std::pair{number, number};
    }
    return bounds;
}

}  // namespace detail

HPO_INLINE LearnedPeaks::Answer LearnedPeaks::ask(const MemoryQuery& query) {
    collect(query);
    if (measured_ == 0 && ended_ > 0) return {Knowledge::unmeasured};
    if (measured_ < least_points) return {Knowledge::too_little};
    const std::size_t points = points_.size();
    const bool is_new = fitted_study_ != query.history.study || fitted_device_ != query.runs_on.device_name;
    if (is_new) searched_points_ = fitted_points_ = 0;
    if (fitted_points_ != points) {
        thin_out();
        learn_inputs();
        fit(points);
        fitted_study_ = query.history.study;
        fitted_device_ = query.runs_on.device_name;
        fitted_points_ = points;
    }
    return {Knowledge::enough, process_.predict(row(query.params, query.plan.effective_micro_batch()))};
}

HPO_INLINE void LearnedPeaks::collect(const MemoryQuery& query) {
    points_.clear();
    ended_ = measured_ = 0;
    for (const Trial& trial : query.history.trials) {
        for (const Attempt& attempt : trial.attempts) {
            if (!attempt.outcome || attempt.device_name != query.runs_on.device_name) continue;
            const bool ended = attempt.outcome == OutcomeKind::complete || attempt.outcome == OutcomeKind::stopped;
            std::optional<std::int64_t> bytes;
            if (ended) {
                ++ended_;
                if (const auto need = measured_need(attempt)) bytes = need->least;
            } else {
                bytes = least_need(attempt);
            }
            if (!bytes || *bytes <= 0) continue;
            measured_ += ended ? 1 : 0;
            points_.push_back({&params_of(trial, attempt), attempt.plan.effective_micro_batch(), attempt.plan.effective_batch,
                               std::log(static_cast<double>(*bytes)), !ended});
        }
    }
}

HPO_INLINE void LearnedPeaks::thin_out() {
    if (points_.size() <= most_points) return;
    constexpr std::size_t latest = most_points / 2;
    const std::size_t earlier = points_.size() - latest;
    std::vector<Point> kept;
    kept.reserve(most_points);
    for (std::size_t i = 0; i < most_points - latest; ++i) kept.push_back(points_[i * earlier / (most_points - latest)]);
    kept.insert(kept.end(), points_.end() - latest, points_.end());
    points_ = std::move(kept);
}

HPO_INLINE void LearnedPeaks::learn_inputs() {
    inputs_.clear();
    bool has_micro_batch = false;
    for (const Point& point : points_) {
        has_micro_batch = has_micro_batch || point.micro_batch;
        for (const Param& param : *point.params) {
            if (std::ranges::find(inputs_, param.name, &Input::name) != inputs_.end() || is_effective_batch(param.name)) continue;
            Input input{.name = param.name};
            if (const auto bounds = detail::bounds_of(*param.distribution)) {
                input.logarithmic = bounds->first > 0;
                input.scale = std::max({std::abs(bounds->first), std::abs(bounds->second), 1e-300});
            } else {
                input.categorical = true;
            }
            inputs_.push_back(std::move(input));
        }
    }
    if (has_micro_batch) inputs_.push_back({.name = std::string{detail::micro_batch_input}, .logarithmic = true});
}

HPO_INLINE bool LearnedPeaks::is_effective_batch(const std::string& name) const {
    return std::ranges::all_of(points_, [&](const Point& point) {
        const auto value = point.params->number(name);
        return point.effective_batch && value && *value == static_cast<double>(*point.effective_batch);
    });
}

HPO_INLINE std::vector<double> LearnedPeaks::row(const ParamSet& params, const std::optional<std::int64_t>& micro_batch) const {
    constexpr double large_factor = 16;  // is 1 in the logarithmic inputs
    std::vector<double> row;
    row.reserve(inputs_.size());
    for (const Input& input : inputs_) {
        std::optional<double> number;
        if (input.name == detail::micro_batch_input) {
            if (micro_batch) number = static_cast<double>(*micro_batch);
        } else if (const Param* const param = params.find(input.name, row.size())) {
            const Value value = param->value();
            const auto* whole = get_if<std::int64_t>(&value);
            const auto* real = get_if<double>(&value);
            if (input.categorical) number = param->internal;
            else if (whole || real) number = whole ? static_cast<double>(*whole) : *real;
        }
        if (!number || (input.logarithmic && *number <= 0)) row.push_back(detail::absent);
        else if (input.categorical) row.push_back(*number);
        else row.push_back(input.logarithmic ? std::log(*number) / std::log(large_factor) : *number / input.scale);
    }
    return row;
}

HPO_INLINE void LearnedPeaks::fit(std::size_t all_points) {
    std::vector<bool> categorical;
    for (const Input& input : inputs_) categorical.push_back(input.categorical);
    std::vector<std::vector<double>> rows;
    std::vector<double> values;
    for (const Point& point : points_) {
        rows.push_back(row(*point.params, point.micro_batch));
        values.push_back(point.log_bytes);
    }
    const bool search = searched_points_ == 0 || all_points * 5 >= searched_points_ * 6;
    process_.fit(categorical, rows, values, search);
    if (search) searched_points_ = all_points;
    for (int round = 0; round < 2 && measured_ < points_.size(); ++round) {
        std::vector<double> expected = values;
        for (std::size_t i = 0; i < points_.size(); ++i) {
            if (!points_[i].censored) continue;
            const NormalBelief belief = process_.predict(rows[i]);
            const double deviation = std::sqrt(belief.variance);
            expected[i] = std::max(values[i], belief.mean + deviation * normal_hazard((values[i] - belief.mean) / deviation));
        }
        process_.fit(categorical, rows, std::move(expected), false);
    }
}

}  // namespace hpo::memory::learned
