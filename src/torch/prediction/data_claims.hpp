// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "hpo/core/peak_prediction.hpp"
#include "hpo/torch/task.hpp"
#include "torch/prediction/predict_peak.hpp"

namespace hpo::libtorch {

/// What a prediction assumes about a task's data, so that it can say so.
struct DataClaims {
    std::string stand_in;       ///< Task::stand_in
    bool batches_alike = true;  ///< Task::batches_alike

    [[nodiscard]] static DataClaims of(const Task& task) {
        return {.stand_in = task.stand_in(), .batches_alike = task.batches_alike() && task.stand_in().empty()};
    }
    /// Adds these assumptions to a prediction. Every recorded step has the heaviest batch of its size (ShortTask). A real epoch's order
    /// depends on the seed. It may bring the heaviest batch only where it needs less: before the optimizer keeps any state, or in a short
    /// step.
    void tell(PeakPrediction& prediction) const {
        if (!batches_alike) {
            prediction.upper_bound = true;
            add_remark(prediction,
                       "each step is counted with the heaviest batch, which a training may meet only in its first step, before the "
                       "optimizer keeps anything, or in a short one");
        }
        add_remark(prediction, stand_in);
    }
};

}  // namespace hpo::libtorch
