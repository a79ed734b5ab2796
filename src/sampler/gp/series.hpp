// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <vector>

#include "hpo/core/history.hpp"
#include "sampler/gp/gaussian_process.hpp"

namespace hpo::sampler::gp {

/// A number that was observed, and where its parameters are.
struct Seen {
    Time at{};
    std::size_t place = 0;
    bool is_rejection = false;
    double value = 0;  ///< lower is better; of a constraint: at most 0 is feasible

    [[nodiscard]] bool is_before(const Seen& other) const {
        return std::tie(at, is_rejection, place) < std::tie(other.at, other.is_rejection, other.place);
    }
    [[nodiscard]] const ParamSet& params(const History& history) const {
        return is_rejection ? history.rejections[place].params : history.trials[place].params;
    }
};

/// The observations of one objective or constraint, in two orders, and the kernel that was last fitted.
struct Series {
    std::vector<Seen> seen;  ///< the oldest first
    struct Ranked {
        double cost = 0;
        Seen seen;
    };
    std::vector<Ranked> ranked;   ///< those that count most first
    std::size_t fitted_from = 0;  ///< the first observations, which the kernel was fitted to; 0: to none
    std::size_t fitted_space = 0;
    Kernel kernel{};

    /// The observations of least `cost` count most.
    void add(const Seen& one, double cost) {
        const auto behind = std::upper_bound(seen.begin(), seen.end(), one, [](const Seen& a, const Seen& b) { return a.is_before(b); });
        if (static_cast<std::size_t>(behind - seen.begin()) < fitted_from) fitted_from = 0;
        seen.insert(behind, one);
        const Ranked rank{cost, one};
        const auto ranks_before = [](const Ranked& a, const Ranked& b) {
            return a.cost != b.cost ? a.cost < b.cost : a.seen.is_before(b.seen);
        };
        ranked.insert(std::upper_bound(ranked.begin(), ranked.end(), rank, ranks_before), rank);
    }

    /// At most `most` of the first `count` observations, the oldest first: half of them those that count most, the others the latest.
    /// Costs what is chosen, and what was ranked before it.
    [[nodiscard]] std::vector<Seen> chosen(std::size_t count, std::size_t most) const {
        const auto end = seen.begin() + static_cast<std::ptrdiff_t>(count);
        if (count <= most) return {seen.begin(), end};
        const auto latest = end - static_cast<std::ptrdiff_t>(most / 2);
        std::vector<Seen> kept;
        for (auto rank = ranked.begin(); kept.size() < most - most / 2; ++rank) {
            if (rank->seen.is_before(*latest)) kept.push_back(rank->seen);
        }
        std::sort(kept.begin(), kept.end(), [](const Seen& a, const Seen& b) { return a.is_before(b); });
        kept.insert(kept.end(), latest, end);
        return kept;
    }
};

/// The number of observations that a kernel is fitted to, if there are `count`: it is fitted anew once there are a twentieth more.
inline std::size_t fitted_count(std::size_t count) {
    std::size_t fitted = 1;
    while (fitted + std::max<std::size_t>(1, fitted / 20) <= count) fitted += std::max<std::size_t>(1, fitted / 20);
    return fitted;
}

/// A scale on which observed values are about standard normal: a power (Yeo and Johnson 2000) that the values are most normal under, then
/// mean 0 and variance 1. Without it a few large values hide what happens near the least ones. Infinite values count as the worst or best
/// finite one.
class Standard {
public:
    Standard(const std::vector<Seen>& seen, bool transforms) {
        for (const Seen& each : seen) {
            if (!std::isfinite(each.value)) continue;
            low_ = std::min(low_, each.value);
            high_ = std::max(high_, each.value);
        }
        if (low_ > high_) low_ = high_ = 0;
        std::vector<double> values;
        for (const Seen& each : seen) values.push_back(std::clamp(each.value, low_, high_));
        first_ = Line{values};
        for (double& value : values) value = first_(value);
        if (!transforms) return;
        power_ = most_normal(values);
        for (double& value : values) value = bent(value, power_);
        second_ = Line{values};
    }
    [[nodiscard]] double operator()(double value) const { return second_(bent(first_(std::clamp(value, low_, high_)), power_)); }
    [[nodiscard]] Eigen::VectorXd operator()(const std::vector<Seen>& seen) const {
        Eigen::VectorXd values(static_cast<Eigen::Index>(seen.size()));
        for (std::size_t i = 0; i < seen.size(); ++i) values[static_cast<Eigen::Index>(i)] = (*this)(seen[i].value);
        return values;
    }
    [[nodiscard]] double worst() const { return (*this)(high_); }
    /// 0 on this scale, even if no value is as far. Not where a power is taken.
    [[nodiscard]] double zero() const { return first_(0); }

private:
    struct Line {
        double mean = 0, deviation = 1;
        Line() = default;
        explicit Line(const std::vector<double>& values) {
            const auto count = static_cast<double>(values.size());
            double squares = 0;
            for (const double value : values) mean += value / count;
            for (const double value : values) squares += (value - mean) * (value - mean) / count;
            if (squares > 0 && std::isfinite(squares)) deviation = std::sqrt(squares);
        }
        double operator()(double value) const { return (value - mean) / deviation; }
    };
    static double bent(double value, double power) {
        if (value >= 0) return power == 0 ? std::log1p(value) : std::expm1(power * std::log1p(value)) / power;
        return power == 2 ? -std::log1p(-value) : -std::expm1((2 - power) * std::log1p(-value)) / (2 - power);
    }
    static double normality(const std::vector<double>& values, double power) {
        std::vector<double> after;
        double logs = 0;
        for (const double value : values) {
            after.push_back(bent(value, power));
            logs += std::copysign(std::log1p(std::fabs(value)), value);
        }
        return -static_cast<double>(values.size()) * std::log(Line{after}.deviation) + (power - 1) * logs;
    }
    static double most_normal(const std::vector<double>& values) {
        double best = 1, most = normality(values, 1);
        for (double power = -3; power < 1; power += 0.125) {
            const double normal = normality(values, power);
            if (normal > most) best = power, most = normal;
        }
        return best;
    }

    double low_ = HUGE_VAL, high_ = -HUGE_VAL;
    Line first_, second_;
    double power_ = 1;
};

/// Constraint values, pressed together where they are far from 0, which stays where it is. Those that violate it are moved one step away
/// from it: an attempt that ran out of memory shows that it needs more, and by how much only at least.
inline std::vector<Seen> pressed(std::vector<Seen> seen) {
    std::vector<double> sizes;
    for (const bool also_violations : {false, true}) {
        for (const Seen& each : seen) {
            if (std::isfinite(each.value) && (each.value < 0 || (also_violations && each.value > 0)))
                sizes.push_back(std::fabs(each.value));
        }
        if (!sizes.empty()) break;
    }
    if (sizes.empty()) return seen;
    const auto middle = sizes.begin() + std::ssize(sizes) / 2;
    std::nth_element(sizes.begin(), middle, sizes.end());
    for (Seen& each : seen) each.value = std::asinh(each.value / *middle) + (each.value > 0 ? 1 : 0);
    return seen;
}

/// A complete and feasible trial that no other one dominates.
struct Best {
    std::vector<double> values;  ///< by objective, lower is better
    Seen seen;
};

}  // namespace hpo::sampler::gp
