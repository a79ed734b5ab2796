// SPDX-License-Identifier: MIT
#include "hpo/guard/learned/peak_model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "hpo/guard/calibration/normal_tail.hpp"

namespace hpo::guard {

void PeakModel::fit(std::vector<Input> inputs, const LawData& data, bool search) {
    inputs_ = std::move(inputs);
    laws_.learn(data, search);
    fit_process(data, search);
}

GaussianProcess::Point PeakModel::point_of(const std::vector<double>& row, const LawBelief& law, double weight) const {
    constexpr double large_factor = 16;        // is 1 in the logarithmic inputs
    constexpr double change_of_program = 0.1;  // standard deviation of the logarithm of the factor
    GaussianProcess::Point point{.row = row, .features = law.features, .weight = weight};
    if (borrows_) point.features.push_back(weight < 1 ? 0 : change_of_program);
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
        if (inputs_[k].logarithmic) point.row[k] = std::log(row[k]) / std::log(large_factor);
        else if (inputs_[k].kind != LawData::Kind::category) point.row[k] = row[k] / inputs_[k].scale;
    }
    return point;
}

void PeakModel::fit_process(const LawData& data, bool search) {
    std::vector<bool> categorical;
    for (const Input& input : inputs_) categorical.push_back(input.kind == LawData::Kind::category);
    std::vector<GaussianProcess::Point> points, telling;
    std::vector<double> left, told;  // by the laws
    bool has_censored = false;
    borrows_ = std::ranges::find(data.borrowed, true) != data.borrowed.end();
    for (std::size_t i = 0; i < data.rows.size(); ++i) {
        const LawBelief law = laws_.ask(data.rows[i]);
        points.push_back(point_of(data.rows[i], law, data.weight(i)));
        left.push_back(data.log_bytes[i] - law.log_bytes);
        has_censored = has_censored || data.censored[i];
        if (data.censored[i] && left.back() < 0) continue;
        telling.push_back(points.back());
        told.push_back(left.back());
    }
    process_.fit(categorical, std::move(telling), std::move(told), search);
    constexpr int rounds = 6;  // more hardly change anything
    for (int round = 0; round < rounds && has_censored; ++round) {
        std::vector<double> expected = left;
        for (std::size_t i = 0; i < points.size(); ++i) {
            if (!data.censored[i]) continue;
            const NormalBelief belief = process_.predict(points[i]);
            const double deviation = std::sqrt(belief.variance);
            expected[i] = std::max(left[i], belief.mean + deviation * normal_hazard((left[i] - belief.mean) / deviation));
        }
        process_.fit(categorical, points, std::move(expected), false);
    }
}

NormalBelief PeakModel::predict(const std::vector<double>& row, double weight) const {
    const LawBelief law = laws_.ask(row);
    NormalBelief belief = process_.predict(point_of(row, law, weight));
    belief.mean += law.log_bytes;
    return belief;
}

double PeakModel::Validation::variance_scale(double foretold) const {
    constexpr double agreeing = 2;  // runs that are added to all, without an error of the model's
    constexpr double usual = 1;     // run that is added near the peak, with the mean of all errors
    constexpr double near = 0.1;    // of the range of what was foretold: the width of a normal kernel
    if (misses.empty()) return 1;
    double all = agreeing;
    for (const Miss& miss : misses) all += miss.square;
    all = std::max(1.0, all / (agreeing + static_cast<double>(misses.size())));
    const auto [least, most] = std::ranges::minmax(misses, {}, &Miss::foretold);
    const double width = std::max(1e-6, near * (most.foretold - least.foretold));
    const double at = std::clamp(foretold, least.foretold, most.foretold);
    double squares = usual * all, runs = usual;
    for (const Miss& miss : misses) {
        const double away = (miss.foretold - at) / width;
        const double weight = std::exp(-0.5 * away * away);
        squares += weight * miss.square;
        runs += weight;
    }
    return std::max(1.0, squares / runs);
}

PeakModel::Validation PeakModel::validated(const LawData& data) const {
    constexpr std::size_t folds = 5, least_runs = 3;
    constexpr std::size_t most_searched = 60;  // of more runs a fifth hardly changes the hyperparameters, and looking for them takes long
    Validation found;
    std::vector<double> errors;
    for (std::size_t fold = 0; fold < folds; ++fold) {
        LawData seen{.kinds = data.kinds, .rows = {}, .log_bytes = {}, .censored = {}};
        for (std::size_t i = 0; i < data.rows.size(); ++i) {
            if (i % folds == fold) continue;
            seen.rows.push_back(data.rows[i]);
            seen.log_bytes.push_back(data.log_bytes[i]);
            seen.censored.push_back(data.censored[i]);
            seen.borrowed.push_back(data.is_borrowed(i));
        }
        if (seen.rows.size() < least_runs) continue;
        PeakModel other = *this;
        other.laws_.learn(seen, true);
        other.fit_process(seen, seen.rows.size() <= most_searched);
        for (std::size_t i = fold; i < data.rows.size(); i += folds) {
            if (!data.censored[i]) errors.push_back(std::abs(std::exp(other.laws_.ask(data.rows[i]).log_bytes - data.log_bytes[i]) - 1));
            const NormalBelief belief = other.predict(data.rows[i], data.weight(i));
            const double z = (data.log_bytes[i] - belief.mean) / std::sqrt(belief.variance);
            if (data.censored[i] && z < 0) continue;
            found.misses.push_back({belief.mean, z * z});
        }
    }
    if (errors.empty()) return found;
    const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
    std::ranges::nth_element(errors, middle);
    found.typical_error = *middle;
    return found;
}

}  // namespace hpo::guard
