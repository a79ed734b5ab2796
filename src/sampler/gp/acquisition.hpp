// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <vector>

#include "sampler/gp/gaussian_process.hpp"

namespace hpo::sampler::gp {

/// A box of the objectives' values that no observation dominates. Lower values are better.
struct FreeCell {
    std::vector<double> low;  ///< by objective; -infinity: no end
    std::vector<double> high;
};

/// The space below `reference` that no point of `front` dominates, as boxes that do not overlap. For one objective that is what lies below
/// the least value. O(points^(objectives - 1)) boxes.
[[nodiscard]] std::vector<FreeCell> free_cells(const std::vector<std::vector<double>>& front, const std::vector<double>& reference);

/// How much a point promises: the logarithm of the hypervolume that its values are expected to add (for one objective: of its expected
/// improvement, Ament et al. 2023), plus the logarithms of the probabilities that each constraint is at most its threshold. The objectives
/// are taken as independent. Then the expected volume of a cell is a product, and its exact value has a closed form (Emmerich et al. 2006).
class Acquisition {
public:
    struct Constraint {
        GaussianProcess process;
        double threshold;
    };
    /// Without objectives only the constraints count.
    Acquisition(std::vector<GaussianProcess> objectives, std::vector<FreeCell> cells, std::vector<Constraint> constraints);

    /// The value, and its gradient by the coordinates of numbers.
    double at(const Eigen::VectorXd& point, Eigen::VectorXd& gradient) const;
    /// Of each row.
    [[nodiscard]] std::vector<double> at_rows(const Eigen::MatrixXd& points) const;

private:
    /// A value, and its derivatives by each objective's mean and deviation.
    struct Promise {
        double value = 0;
        std::vector<double> by_mean;
        std::vector<double> by_deviation;
    };
    [[nodiscard]] Promise promise(const std::vector<Prediction>& predictions) const;

    std::vector<GaussianProcess> objectives_;
    std::vector<FreeCell> cells_;
    std::vector<Constraint> constraints_;
};

}  // namespace hpo::sampler::gp
