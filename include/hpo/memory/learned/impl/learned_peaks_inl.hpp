// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "hpo/base/inline.hpp"
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
    const Knowledge knowledge = learn(query.history, query.runs_on.device_name);
    if (knowledge != Knowledge::enough) return {knowledge};
    NormalBelief belief = model_.predict(row(query.params, query.plan.effective_micro_batch()));
    belief.variance *= validation_.boldness;
    return {Knowledge::enough, belief};
}

HPO_INLINE LearnedPeaks::Knowledge LearnedPeaks::learn(const History& history, const std::string& device_name) {
    collect(history, device_name);
    if (measured_ == 0 && ended_ > 0) return Knowledge::unmeasured;
    if (measured_ < least_points) return Knowledge::too_little;
    const std::size_t points = points_.size();
    const bool is_new = fitted_study_ != history.study || fitted_device_ != device_name;
    if (is_new) searched_points_ = fitted_points_ = 0;
    if (fitted_points_ != points) {
        thin_out();
        learn_inputs();
        fit(points);
        fitted_study_ = history.study;
        fitted_device_ = device_name;
        fitted_points_ = points;
    }
    return Knowledge::enough;
}

HPO_INLINE ToldLaw LearnedPeaks::law(const History& history, const std::string& device_name) {
    fitted_points_ = searched_points_ = 0;  // all of it anew, so that it depends on the history alone
    const bool is_enough = learn(history, device_name) == Knowledge::enough;
    ToldLaw law;
    for (const Point& point : points_) ++(point.censored ? law.ran_out : law.attempts);
    if (!is_enough || law.attempts < ToldLaw::least_attempts) return law;
    const std::vector<LawTerm>& terms = model_.laws().laws().front().terms;
    law.typical_error = validation_.typical_error;
    law.kind = law.typical_error > ToldLaw::largest_error ? ToldLaw::Kind::none
               : terms.size() == 1                        ? ToldLaw::Kind::constant
                                                          : ToldLaw::Kind::products;
    if (law.kind == ToldLaw::Kind::none) return law;
    for (const LawTerm& term : terms) {
        if (term.bytes > 0) law.parts.push_back(told(term));
    }
    return law;
}

HPO_INLINE ToldLaw::Part LearnedPeaks::told(const LawTerm& term) const {
    ToldLaw::Part part{.factors = {}, .choice = {}, .bytes = term.bytes};
    for (const LawTerm::Factor& factor : term.factors) {
        std::vector<double> values;
        for (const Point& point : points_) values.push_back(row(*point.params, point.micro_batch)[factor.input]);
        std::erase_if(values, [](double value) { return std::isnan(value); });
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::ranges::nth_element(values, middle);
        const std::string& name = names_[factor.input];
        part.factors.push_back({name == detail::micro_batch_input ? std::string{} : name, factor.power, *middle});
    }
    if (!term.choice) return part;
    const std::string& name = names_[term.choice->input];
    for (const Point& point : points_) {
        const Param* const param = point.params->find(name);
        if (param && param->internal == term.choice->category) part.choice = ToldLaw::Choice{name, param->value()};
    }
    return part;
}

HPO_INLINE void LearnedPeaks::collect(const History& history, const std::string& device_name) {
    points_.clear();
    ended_ = measured_ = 0;
    for (const Trial& trial : history.trials) {
        for (const Attempt& attempt : trial.attempts) {
            if (!attempt.outcome || attempt.device_name != device_name) continue;
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
    names_.clear();
    inputs_.clear();
    bool has_micro_batch = false;
    for (const Point& point : points_) {
        has_micro_batch = has_micro_batch || point.micro_batch;
        for (const Param& param : *point.params) {
            if (std::ranges::find(names_, param.name) != names_.end() || is_effective_batch(param.name)) continue;
            PeakModel::Input input{.kind = LawData::Kind::category};
            if (const auto bounds = detail::bounds_of(*param.distribution)) {
                input.kind = bounds->first < 0 ? LawData::Kind::other : LawData::Kind::amount;
                input.logarithmic = bounds->first > 0;
                input.scale = std::max({std::abs(bounds->first), std::abs(bounds->second), 1e-300});
            }
            names_.push_back(param.name);
            inputs_.push_back(input);
        }
    }
    if (!has_micro_batch) return;
    names_.emplace_back(detail::micro_batch_input);
    inputs_.push_back({.kind = LawData::Kind::amount, .logarithmic = true});
}

HPO_INLINE bool LearnedPeaks::is_effective_batch(const std::string& name) const {
    return std::ranges::all_of(points_, [&](const Point& point) {
        const auto value = point.params->number(name);
        return point.effective_batch && value && *value == static_cast<double>(*point.effective_batch);
    });
}

HPO_INLINE std::vector<double> LearnedPeaks::row(const ParamSet& params, const std::optional<std::int64_t>& micro_batch) const {
    std::vector<double> row;
    row.reserve(inputs_.size());
    for (const PeakModel::Input& input : inputs_) {
        const std::string& name = names_[row.size()];
        std::optional<double> number;
        if (name == detail::micro_batch_input) {
            if (micro_batch) number = static_cast<double>(*micro_batch);
        } else if (const Param* const param = params.find(name, row.size())) {
            const Value value = param->value();
            const auto* whole = get_if<std::int64_t>(&value);
            const auto* real = get_if<double>(&value);
            if (input.kind == LawData::Kind::category) number = param->internal;
            else if (whole || real) number = whole ? static_cast<double>(*whole) : *real;
        }
        const bool is_absent = !number || (input.logarithmic && *number <= 0);
        row.push_back(is_absent ? detail::absent : *number);
    }
    return row;
}

HPO_INLINE void LearnedPeaks::fit(std::size_t all_points) {
    LawData data;
    for (const PeakModel::Input& input : inputs_) data.kinds.push_back(input.kind);
    for (const Point& point : points_) {
        data.rows.push_back(row(*point.params, point.micro_batch));
        data.log_bytes.push_back(point.log_bytes);
        data.censored.push_back(point.censored);
    }
    const bool has_other_inputs = names_ != searched_names_ || data.kinds != searched_kinds_;  // laws name them by their places
    const bool search = searched_points_ == 0 || all_points * 5 >= searched_points_ * 6 || has_other_inputs;
    model_.fit(inputs_, data, search);
    if (!search) return;
    searched_points_ = all_points;
    searched_names_ = names_;
    searched_kinds_ = data.kinds;
    validation_ = model_.validated(data);
}

}  // namespace hpo::memory::learned
