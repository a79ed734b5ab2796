// SPDX-License-Identifier: MIT
#include "hpo/guard/learned/gaussian_process.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace hpo::guard {

namespace detail {
inline constexpr double usual_noise = 0.05;  // runs of one configuration differ by some per cent
}

void GaussianProcess::fit(std::vector<bool> categorical, std::vector<Point> points, std::vector<double> values, bool search_anew) {
    const bool keeps = !search_anew && hyper_.lengths.size() == categorical.size() && !points_.empty();
    categorical_ = std::move(categorical);
    points_ = std::move(points);
    const std::size_t n = points_.size();
    mean_ = 0;
    for (const double value : values) mean_ += value / static_cast<double>(n);
    double squares = 0;
    for (double& value : values) {
        value -= mean_;
        squares += value * value;
    }
    centred_ = std::move(values);
    centre_.assign(categorical_.size(), 0);
    for (std::size_t k = 0; k < categorical_.size(); ++k) {
        double sum = 0, count = 0;
        for (const Point& point : points_) {
            if (categorical_[k] || std::isnan(point.row[k])) continue;
            sum += point.row[k];
            ++count;
        }
        if (count > 0) centre_[k] = sum / count;
    }
    constexpr double least_spread = 0.05;
    spread_ = std::max(least_spread, std::sqrt(squares / static_cast<double>(n)));
    if (!keeps) search();
    factorise();
}

double GaussianProcess::kernel(const Point& first, const Point& second) const {
    const std::vector<double>&a = first.row, &b = second.row;
    double distance = 0, product = 1;  // the 1 is a constant that is not known either
    for (std::size_t k = 0; k < a.size(); ++k) {
        const double scale = factors_.inputs[k];
        const bool has_a = !std::isnan(a[k]), has_b = !std::isnan(b[k]);
        if (categorical_[k] || !has_a || !has_b) {
            const bool equal = has_a == has_b && (!has_a || a[k] == b[k]);
            distance += equal ? 0 : scale;
            product += equal && has_a && categorical_[k] ? scale : 0;
        } else {
            distance += (a[k] - b[k]) * (a[k] - b[k]) * scale;
            product += (a[k] - centre_[k]) * (b[k] - centre_[k]) * scale;
        }
    }
    const double r = std::sqrt(5 * distance);
    double common = 0;
    for (std::size_t k = 0; k < first.features.size(); ++k) common += first.features[k] * second.features[k];
    return factors_.amplitude * (1 + r + r * r / 3) * std::exp(-r) + factors_.slope * product + common;
}

double GaussianProcess::factorise() {
    factors_.inputs.clear();
    for (const double length : hyper_.lengths) factors_.inputs.push_back(std::exp(-2 * length));
    factors_.amplitude = std::exp(2 * hyper_.amplitude);
    factors_.slope = std::exp(2 * hyper_.slope);
    factors_.noise = std::exp(2 * hyper_.noise);
    const std::size_t n = points_.size();
    lower_.assign(n * n, 0);
    const double noise = factors_.noise;
    double log_determinant = 0;
    for (std::size_t i = 0; i < n; ++i) {
        double* const row = &lower_[i * n];
        for (std::size_t j = 0; j <= i; ++j) {
            const double* const other = &lower_[j * n];
            double sum = kernel(points_[i], points_[j]) + (i == j ? noise / points_[i].weight : 0);
            for (std::size_t k = 0; k < j; ++k) sum -= row[k] * other[k];
            if (i != j) row[j] = sum / other[j];
            else row[i] = std::sqrt(std::max(sum, noise / 2));
        }
        log_determinant += std::log(row[i]);
    }
    weights_ = centred_;
    double fit = 0;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < i; ++k) weights_[i] -= lower_[i * n + k] * weights_[k];
        weights_[i] /= lower_[i * n + i];
        fit += weights_[i] * weights_[i];
    }
    for (std::size_t i = n; i-- > 0;) {
        for (std::size_t k = i + 1; k < n; ++k) weights_[i] -= lower_[k * n + i] * weights_[k];
        weights_[i] /= lower_[i * n + i];
    }
    const auto prior = [](double value, double centre, double width) {
        return -0.5 * (value - centre) * (value - centre) / (width * width);
    };
    double density = -0.5 * fit - log_determinant;
    for (const double length : hyper_.lengths) density += prior(length, 0.5, 1.2);
    density += prior(hyper_.amplitude, std::log(spread_) - 0.5, 1) + prior(hyper_.slope, std::log(spread_), 1);
    return density + prior(hyper_.noise, std::log(detail::usual_noise), 0.8);
}

void GaussianProcess::search() {
    hyper_ = {std::vector<double>(categorical_.size(), 0.5), std::log(spread_) - 0.5, std::log(spread_), std::log(detail::usual_noise)};
    double best = factorise();
    std::vector<double*> all;
    for (double& length : hyper_.lengths) all.push_back(&length);
    for (double* each : {&hyper_.amplitude, &hyper_.slope, &hyper_.noise}) all.push_back(each);
    for (double step = 1; step > 0.2; step /= 2) {
        bool improved = true;
        for (int sweep = 0; improved && sweep < 3; ++sweep) {
            improved = false;
            for (double* const each : all) {
                for (const double change : {step, -step}) {
                    const double before = *each;
                    *each += change;
                    if (const double density = factorise(); density > best + 1e-6) {
                        best = density;
                        improved = true;
                        break;
                    }
                    *each = before;
                }
            }
        }
    }
}

NormalBelief GaussianProcess::predict(const Point& point) const {
    const std::size_t n = points_.size();
    std::vector<double> to(n);
    const double noise = factors_.noise / point.weight;
    NormalBelief belief{mean_, kernel(point, point) + noise};
    for (std::size_t i = 0; i < n; ++i) {
        to[i] = kernel(point, points_[i]);
        belief.mean += to[i] * weights_[i];
    }
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < i; ++k) to[i] -= lower_[i * n + k] * to[k];
        to[i] /= lower_[i * n + i];
        belief.variance -= to[i] * to[i];
    }
    belief.variance = std::max(belief.variance, noise);
    return belief;
}

}  // namespace hpo::guard
