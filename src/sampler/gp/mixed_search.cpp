// SPDX-License-Identifier: MIT
#include "sampler/gp/mixed_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "hpo/sampler/sobol.hpp"
#include "hpo/sampler/truncated_normal.hpp"
#include "sampler/gp/box_minimum.hpp"

namespace hpo::sampler::gp {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// The value of a range at a quantile in [0, 1).
double at_quantile(const Range& range, double quantile) {
    if (range.values.empty()) return range.low + quantile * (range.high - range.low);
    const auto count = static_cast<double>(range.values.size());
    return range.values[static_cast<std::size_t>(std::min(quantile * count, count - 1))];
}

/// The value of a range that is nearest to a number.
double nearest(const Range& range, double number) {
    if (range.values.empty()) return std::clamp(number, range.low, range.high);
    const auto above = std::lower_bound(range.values.begin(), range.values.end(), number);
    if (above == range.values.begin()) return *above;
    if (above == range.values.end()) return range.values.back();
    return *above - number < number - *(above - 1) ? *above : *(above - 1);
}

/// A point is moved along the gradient in this dimension. A choice is not.
bool is_number(const Range& range) { return !range.is_choice && (range.values.empty() || range.values.size() > 1); }

class Search {
public:
    Search(const Acquisition& acquisition, const std::vector<Range>& ranges, const IsRefused& is_refused, Rng& rng)
        : acquisition_{acquisition}, ranges_{ranges}, is_refused_{is_refused}, rng_{rng} {}

    [[nodiscard]] VectorXd run(const MatrixXd& best, std::size_t most_candidates) {
        const MatrixXd candidates = candidates_near(best, most_candidates);
        const std::vector<double> values = acquisition_.at_rows(candidates);
        std::vector<Index> order(values.size());
        std::iota(order.begin(), order.end(), Index{0});
        std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return value(values, a) > value(values, b); });
        Found found{candidates.row(order.front()), -HUGE_VAL};
        const auto keep = [&](const VectorXd& point, double promised) {
            if (promised > found.value && !is_refused_(acquisition_.settled(point))) found = {point, promised};
        };
        constexpr std::size_t most_starts = 10;
        std::vector<VectorXd> starts;
        for (const Index i : order) {
            const VectorXd point = candidates.row(i);
            keep(point, value(values, i));
            const auto is_near = [&](const VectorXd& start) { return (start - point).lpNorm<Eigen::Infinity>() < 0.05; };
            if (starts.size() < most_starts && std::none_of(starts.begin(), starts.end(), is_near)) starts.push_back(point);
        }
        for (const VectorXd& start : starts) climb(start, keep);
        return found.value > -HUGE_VAL ? found.point : by_chance();
    }

private:
    struct Found {
        VectorXd point;
        double value;
    };
    [[nodiscard]] static double value(const std::vector<double>& values, Index i) {
        const double value = values[static_cast<std::size_t>(i)];
        return std::isnan(value) ? -HUGE_VAL : value;
    }
    [[nodiscard]] Index dimensions() const { return static_cast<Index>(ranges_.size()); }
    [[nodiscard]] const Range& range(Index d) const { return ranges_[static_cast<std::size_t>(d)]; }

    [[nodiscard]] VectorXd by_chance() {
        VectorXd point(dimensions());
        for (Index d = 0; d < dimensions(); ++d) point[d] = at_quantile(range(d), rng_.uniform());
        return point;
    }

    /// Two thirds of Sobol's points; the rest changes some coordinates of the best points a little.
    [[nodiscard]] MatrixXd candidates_near(const MatrixXd& best, std::size_t most) {
        const std::size_t near = best.rows() > 0 ? most / 3 : 0;
        MatrixXd candidates(static_cast<Index>(most) + best.rows(), dimensions());
        const std::uint64_t seed = rng_();
        Index row = 0;
        for (; row < static_cast<Index>(most - near); ++row) {
            for (Index d = 0; d < dimensions(); ++d) {
                const auto column = static_cast<std::size_t>(d);
                const double quantile = column < Sobol::dimensions
                                            ? Sobol::scrambled(Sobol::coordinate(static_cast<std::uint32_t>(row), column),
                                                               static_cast<std::uint32_t>(Seed{seed}.derive(column).value)) *
                                                  0x1.0p-32
                                            : rng_.uniform();
                candidates(row, d) = at_quantile(range(d), quantile);
            }
        }
        for (; row < static_cast<Index>(most); ++row) {
            candidates.row(row) = best.row(static_cast<Index>(rng_.below(static_cast<std::uint64_t>(best.rows()))));
            const double width = std::pow(10, -0.5 - 2 * rng_.uniform());
            const auto always = static_cast<Index>(rng_.below(static_cast<std::uint64_t>(dimensions())));
            for (Index d = 0; d < dimensions(); ++d) {
                const bool is_changed = d == always || rng_.uniform() < 0.5;
                const double quantile = rng_.uniform();
                double& coordinate = candidates(row, d);
                if (!is_changed) coordinate = nearest(range(d), coordinate);
                else if (range(d).is_choice) coordinate = at_quantile(range(d), quantile);
                else coordinate = nearest(range(d), coordinate + width * truncated_normal_quantile(quantile, -4, 4));
            }
        }
        for (Index i = 0; i < best.rows(); ++i, ++row) {
            for (Index d = 0; d < dimensions(); ++d) candidates(row, d) = nearest(range(d), best(i, d));
        }
        return candidates;
    }

    template <class Keep>
    void climb(VectorXd point, const Keep& keep) const {
        VectorXd gradient(dimensions());
        double promised = acquisition_.at(point, gradient);
        constexpr int most_rounds = 6;
        for (int round = 0; round < most_rounds; ++round) {
            const double before = promised;
            along_gradient(point, promised, keep);
            for (Index d = 0; d < dimensions(); ++d) along_values(d, point, promised, keep);
            if (!(promised > before + 1e-4)) return;
        }
    }

    template <class Keep>
    void along_gradient(VectorXd& point, double& promised, const Keep& keep) const {
        VectorXd low = point, high = point;
        bool has_number = false;
        for (Index d = 0; d < dimensions(); ++d) {
            if (!is_number(range(d))) continue;
            has_number = true;
            low[d] = range(d).values.empty() ? range(d).low : range(d).values.front();
            high[d] = range(d).values.empty() ? range(d).high : range(d).values.back();
        }
        if (!has_number) return;
        const auto loss = [&](const VectorXd& at, VectorXd& gradient) {
            const double value = acquisition_.at(at, gradient);
            gradient = -gradient;
            return -value;
        };
        constexpr int most_calls = 40;
        VectorXd moved = minimum_in_box(loss, point, low, high, most_calls, 1e-4).at;
        for (Index d = 0; d < dimensions(); ++d) moved[d] = nearest(range(d), moved[d]);
        VectorXd unused(dimensions());
        take(moved, acquisition_.at(moved, unused), point, promised, keep);
    }

    /// Tries other values of one dimension: all of a short list, else the neighbours.
    template <class Keep>
    void along_values(Index d, VectorXd& point, double& promised, const Keep& keep) const {
        const std::vector<double>& values = range(d).values;
        if (values.size() < 2) return;
        constexpr std::size_t most_values = 24;
        std::vector<double> others;
        if (values.size() <= most_values || range(d).is_choice) {
            others = values;
        } else {
            const auto here = std::lower_bound(values.begin(), values.end(), point[d]) - values.begin();
            for (const std::ptrdiff_t far : {1, 2, 4, 8, 16}) {
                if (here >= far) others.push_back(values[static_cast<std::size_t>(here - far)]);
                if (here + far < std::ssize(values)) others.push_back(values[static_cast<std::size_t>(here + far)]);
            }
        }
        std::erase(others, point[d]);
        MatrixXd points = point.transpose().replicate(static_cast<Index>(others.size()), 1);
        for (std::size_t i = 0; i < others.size(); ++i) points(static_cast<Index>(i), d) = others[i];
        const std::vector<double> promises = acquisition_.at_rows(points);
        for (Index i = 0; i < points.rows(); ++i) take(points.row(i), promises[static_cast<std::size_t>(i)], point, promised, keep);
    }

    template <class Keep>
    static void take(const VectorXd& other, double its, VectorXd& point, double& promised, const Keep& keep) {
        keep(other, its);
        if (!(its > promised)) return;
        point = other;
        promised = its;
    }

    const Acquisition& acquisition_;
    const std::vector<Range>& ranges_;
    const IsRefused& is_refused_;
    Rng& rng_;
};

}  // namespace

VectorXd most_promising(const Acquisition& acquisition, const std::vector<Range>& ranges, const MatrixXd& best, std::size_t most_candidates,
                        const IsRefused& is_refused, Rng& rng) {
    return Search{acquisition, ranges, is_refused, rng}.run(best, most_candidates);
}

}  // namespace hpo::sampler::gp
