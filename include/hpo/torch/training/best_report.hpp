// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "hpo/core/study.hpp"
#include "hpo/torch/task.hpp"

namespace hpo::libtorch {

/// The tensors that training changes: parameters that learn, then buffers, in the model's order.
[[nodiscard]] std::vector<torch::Tensor> changing_tensors(const torch::nn::Module& model);

/// The best report of an attempt that stops early: its metrics, and the weights at that time. They lie in host memory outside the meter.
struct BestReport {
    std::int64_t step = 0;  ///< from 1; 0: none yet
    double value = 0;
    Metrics metrics;
    std::vector<torch::Tensor> weights;  ///< changing_tensors

    /// Keeps the candidate if it is better than all reports before it.
    void see(const BestReport& candidate, Direction direction, const torch::nn::Module& model);
    /// True if the last `patience` reports in a row were no better. False if `patience` is 0.
    [[nodiscard]] bool exhausted(std::int64_t latest, std::int64_t patience) const { return patience > 0 && latest - step >= patience; }
    /// Gives the model the weights of the best report again.
    void restore(torch::nn::Module& model) const;
};

}  // namespace hpo::libtorch
