// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "hpo/core/study.hpp"
#include "hpo/torch/task.hpp"

namespace hpo::torch {

/// What training changes in a model: parameters that learn, then buffers, in the model's order.
[[nodiscard]] std::vector<::torch::Tensor> changing_tensors(const ::torch::nn::Module& model);

/// The best report of an attempt that stops early: its metrics, and what then was learnt, in host memory outside the meter.
struct BestReport {
    std::int64_t step = 0;  ///< from 1; 0: none yet
    double value = 0;
    Metrics metrics;
    std::vector<::torch::Tensor> weights;  ///< changing_tensors

    /// Keeps a report that is better than all before it.
    void see(const BestReport& candidate, Direction direction, const ::torch::nn::Module& model);
    /// True when the steps of `patience` reports in a row (0: any number) were no better.
    [[nodiscard]] bool exhausted(std::int64_t latest, std::int64_t patience) const { return patience > 0 && latest - step >= patience; }
    /// Gives the model the weights of the best report again.
    void restore(::torch::nn::Module& model) const;
};

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/best_report_inl.hpp"
#endif
