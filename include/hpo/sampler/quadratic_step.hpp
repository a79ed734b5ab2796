// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include "hpo/core/seed.hpp"

namespace hpo::sampler {

/// Steps to where a quadratic is least that is fitted to the values around the best point, within a region of trust (Powell 2009, "The
/// BOBYQA algorithm for bound constrained optimization without derivatives"; that a quadratic pays where a trial is expensive: Hansen 2019,
/// "A global surrogate assisted CMA-ES"). A Gaussian process knows a function along its axes. A quadratic follows a valley that lies across
/// them, and comes much nearer to the bottom of a smooth one.
///
/// The region reaches as far as the nearest points, twice as many as there are dimensions and two, or a part of that down to a hundredth,
/// drawn by chance. So it shrinks while steps end near the best point, and grows where a better one is found far away. It is linked with
/// hpo::search. Thread safety: none. A copy is independent.
class QuadraticStep {
public:
    using Point = std::vector<double>;  ///< coordinates in [0, 1]

    /// All points have the same number of coordinates. A value must be finite; lower is better.
    void learn(Point point, double value);
    void forget() { points_.clear(), values_.clear(), best_ = 0; }
    /// False as long as too few points are known for a fit.
    [[nodiscard]] bool has_learned() const noexcept { return !points_.empty() && points_.size() >= near_count(); }

    /// The point of the space that is nearest to one of the box: itself, or on a grid.
    using Admitted = std::function<Point(Point)>;

    /// The step from the best point, once it has learned. If it leads to a point that is known, or among `running`, it is one by chance
    /// around the best. Empty if such ones are known, too. The order in which points were learned does not matter. At most 250 points
    /// count, those that are nearest to the best. O(250³).
    [[nodiscard]] Point propose(const std::vector<Point>& running, const Admitted& admitted, Rng& rng) const;

private:
    /// How many points the region reaches to. With fewer it would shrink faster than steps along a slope get on.
    [[nodiscard]] std::size_t near_count() const noexcept { return std::max<std::size_t>(2 * points_.front().size() + 2, 6); }

    std::vector<Point> points_;
    std::vector<double> values_;
    std::size_t best_ = 0;
};

}  // namespace hpo::sampler
