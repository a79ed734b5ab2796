// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <functional>

namespace hpo::sampler::gp {

/// The value of a smooth function at a point, and its gradient there, which it writes.
using SmoothFunction = std::function<double(const Eigen::VectorXd& at, Eigen::VectorXd& gradient)>;

struct BoxMinimum {
    Eigen::VectorXd at;
    double value = 0;
};

/// A local minimum of a smooth function within [low, high], from `start`: L-BFGS (Nocedal and Wright 2006, algorithm 7.4) over the
/// coordinates that are not held at a bound, with steps that are projected into the box (Bertsekas 1982). The function is called about
/// `most_calls` times at most.
[[nodiscard]] BoxMinimum minimum_in_box(const SmoothFunction& function, Eigen::VectorXd start, const Eigen::VectorXd& low,
                                        const Eigen::VectorXd& high, int most_calls, double tolerance = 1e-5);

}  // namespace hpo::sampler::gp
