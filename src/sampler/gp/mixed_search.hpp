// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "hpo/core/seed.hpp"
#include "sampler/gp/acquisition.hpp"

namespace hpo::sampler::gp {

/// The values that a proposal may have in one dimension.
struct Range {
    std::vector<double> values{};  ///< ascending; empty: every number from low to high
    double low = 0;
    double high = 1;
    bool is_choice = false;  ///< neighbours in `values` are no more alike than others
};

/// True if a settled point must not be proposed.
using IsRefused = std::function<bool(const Eigen::VectorXd& point)>;

/// Looks for the point of the greatest acquisition: among Sobol's points and neighbours of `best` (rows), then by local searches that
/// change all numbers along the gradient and each choice, or number of a grid, by itself. Returns the best point that is not refused; if
/// each that was looked at is refused, one by chance. `most_candidates` bounds the first step.
[[nodiscard]] Eigen::VectorXd most_promising(const Acquisition& acquisition, const std::vector<Range>& ranges, const Eigen::MatrixXd& best,
                                             std::size_t most_candidates, const IsRefused& is_refused, Rng& rng);

}  // namespace hpo::sampler::gp
