// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "hpo/sampler/free_cells.hpp"
#include "sampler/gp/gaussian_process.hpp"

namespace hpo::sampler::gp {

/// Takes from a point the coordinates that it cannot have beside its others: those of parameters of another branch. Observations lack them
/// too, so no point promises anything because of them.
using Settle = std::function<void(Eigen::VectorXd& point)>;

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
    Acquisition(
        std::vector<GaussianProcess> objectives, std::vector<FreeCell> cells, std::vector<Constraint> constraints,
        Settle settle = [](Eigen::VectorXd&) {});

    /// The value, and its gradient by the coordinates of numbers.
    double at(const Eigen::VectorXd& whole_point, Eigen::VectorXd& gradient) const;
    /// Of each row.
    [[nodiscard]] std::vector<double> at_rows(Eigen::MatrixXd points) const;
    [[nodiscard]] Eigen::VectorXd settled(Eigen::VectorXd point) const {
        settle_(point);
        return point;
    }

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
    Settle settle_;
};

}  // namespace hpo::sampler::gp
