// SPDX-License-Identifier: MIT
#include "sampler/gp/acquisition.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <utility>

#include "hpo/sampler/truncated_normal.hpp"

namespace hpo::sampler::gp {

namespace {

using Eigen::VectorXd;

/// A logarithm and its derivatives by mean and deviation.
struct LogTerm {
    double log;
    double by_mean;
    double by_deviation;
};

/// The logarithm of E[max(0, threshold - Y)].
LogTerm log_expected_improvement(const Prediction& known, double threshold) {
    const double z = (threshold - known.mean) / known.deviation;
    double log_h = 0, cdf = 0, pdf = 0;  // h(z) = pdf + z cdf; the two are divided by it
    constexpr double far = -25;          // beyond it h is a difference of nearly equal numbers
    if (z > far) {
        pdf = std::exp(-0.5 * z * z - log_sqrt_two_pi);
        cdf = 0.5 * std::erfc(-z / std::numbers::sqrt2);
        const double h = pdf + z * cdf;
        log_h = std::log(h);
        pdf /= h;
        cdf /= h;
    } else {  // the asymptotic series of the Mills ratio
        const double i = 1 / (z * z);
        const double over_pdf = i * (1 - 3 * i * (1 - 5 * i));
        log_h = -0.5 * z * z - log_sqrt_two_pi + std::log(over_pdf);
        pdf = 1 / over_pdf;
        cdf = pdf * (1 - i * (1 - 3 * i)) / -z;
    }
    return {std::log(known.deviation) + log_h, -cdf / known.deviation, pdf / known.deviation};
}

/// The logarithm of E[high - max(low, Y)], where that is positive.
LogTerm log_expected_width(const Prediction& known, double low, double high) {
    const LogTerm above = log_expected_improvement(known, high);
    if (std::isinf(low)) return above;
    const LogTerm below = log_expected_improvement(known, low);
    const double share = std::min(std::exp(below.log - above.log), 1 - 1e-12);
    return {above.log + std::log1p(-share), (above.by_mean - share * below.by_mean) / (1 - share),
            (above.by_deviation - share * below.by_deviation) / (1 - share)};
}

/// The logarithm of P(Y <= threshold).
LogTerm log_probability_below(const Prediction& known, double threshold) {
    const double z = (threshold - known.mean) / known.deviation;
    const double log_cdf = log_normal_cdf(z);
    const double ratio = std::exp(-0.5 * z * z - log_sqrt_two_pi - log_cdf);
    return {log_cdf, -ratio / known.deviation, -ratio * z / known.deviation};
}

}  // namespace

Acquisition::Acquisition(std::vector<GaussianProcess> objectives, std::vector<FreeCell> cells, std::vector<Constraint> constraints,
                         Settle settle)
    : objectives_{std::move(objectives)}, cells_{std::move(cells)}, constraints_{std::move(constraints)}, settle_{std::move(settle)} {}

Acquisition::Promise Acquisition::promise(const std::vector<Prediction>& predictions) const {
    const std::size_t objectives = predictions.size();
    Promise sum{-std::numeric_limits<double>::infinity(), std::vector<double>(objectives), std::vector<double>(objectives)};
    std::vector<LogTerm> widths(objectives);
    for (const FreeCell& cell : cells_) {
        double log_volume = 0;
        for (std::size_t m = 0; m < objectives; ++m) {
            widths[m] = log_expected_width(predictions[m], cell.low[m], cell.high[m]);
            log_volume += widths[m].log;
        }
        const double together = log_add(sum.value, log_volume);
        const double before = std::exp(sum.value - together), share = std::exp(log_volume - together);
        for (std::size_t m = 0; m < objectives; ++m) {
            sum.by_mean[m] = before * sum.by_mean[m] + share * widths[m].by_mean;
            sum.by_deviation[m] = before * sum.by_deviation[m] + share * widths[m].by_deviation;
        }
        sum.value = together;
    }
    return sum;
}

double Acquisition::at(const VectorXd& whole_point, VectorXd& gradient) const {
    const VectorXd point = settled(whole_point);
    gradient.setZero(point.size());
    double value = 0;
    if (!objectives_.empty()) {
        std::vector<Prediction> predictions;
        std::vector<VectorXd> of_mean(objectives_.size()), of_deviation(objectives_.size());
        for (std::size_t m = 0; m < objectives_.size(); ++m) predictions.push_back(objectives_[m].at(point, of_mean[m], of_deviation[m]));
        const Promise expected = promise(predictions);
        value = expected.value;
        for (std::size_t m = 0; m < objectives_.size(); ++m)
            gradient += expected.by_mean[m] * of_mean[m] + expected.by_deviation[m] * of_deviation[m];
    }
    VectorXd of_mean, of_deviation;
    for (const Constraint& constraint : constraints_) {
        const Prediction known = constraint.process.at(point, of_mean, of_deviation);
        const LogTerm feasible = log_probability_below(known, constraint.threshold);
        value += feasible.log;
        gradient += feasible.by_mean * of_mean + feasible.by_deviation * of_deviation;
    }
    for (Eigen::Index d = 0; d < point.size(); ++d) {
        if (point[d] != whole_point[d]) gradient[d] = 0;
    }
    return value;
}

std::vector<double> Acquisition::at_rows(Eigen::MatrixXd points) const {
    for (Eigen::Index i = 0; i < points.rows(); ++i) points.row(i) = settled(points.row(i));
    const auto count = static_cast<std::size_t>(points.rows());
    std::vector<double> values(count, 0);
    if (!objectives_.empty()) {
        std::vector<std::vector<Prediction>> by_objective;
        for (const GaussianProcess& process : objectives_) by_objective.push_back(process.at_rows(points));
        std::vector<Prediction> predictions(objectives_.size());
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t m = 0; m < predictions.size(); ++m) predictions[m] = by_objective[m][i];
            values[i] = promise(predictions).value;
        }
    }
    for (const Constraint& constraint : constraints_) {
        const std::vector<Prediction> predictions = constraint.process.at_rows(points);
        for (std::size_t i = 0; i < count; ++i) values[i] += log_probability_below(predictions[i], constraint.threshold).log;
    }
    return values;
}

}  // namespace hpo::sampler::gp
