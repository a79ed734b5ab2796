// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hpo/core/study.hpp"
#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/model_parts.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/value_reads.hpp"

namespace hpo::torch {

/// What training changes in a model: parameters that learn, then buffers, in the model's order.
[[nodiscard]] inline std::vector<::torch::Tensor> changing_tensors(const ::torch::nn::Module& model) {
    std::vector<::torch::Tensor> tensors;
    for (const auto& [name, parameter] : distinct_parameters(model)) {
        if (parameter.requires_grad()) tensors.push_back(parameter.detach());
    }
    for (const ::torch::Tensor& buffer : model.buffers()) tensors.push_back(buffer);
    return tensors;
}

/// The best report of an attempt that stops early: its metrics, and what then was learnt, in host memory outside the meter.
struct BestReport {
    std::int64_t step = 0;  ///< from 1; 0: none yet
    double value = 0;
    Metrics metrics;
    std::vector<::torch::Tensor> weights;  ///< changing_tensors

    /// Keeps a report that is better than all before it.
    void see(const BestReport& candidate, Direction direction, const ::torch::nn::Module& model) {
        const bool better = direction == Direction::maximize ? candidate.value > value : candidate.value < value;
        if (step > 0 && !better) return;
        const Unmetered outside;
        const HarmlessReads of_weights;
        *this = candidate;
        for (const ::torch::Tensor& tensor : changing_tensors(model))
            weights.push_back(tensor.to(::torch::kCPU, /*non_blocking=*/false, /*copy=*/true));
    }
    /// True when the steps of `patience` reports in a row (0: any number) were no better.
    [[nodiscard]] bool exhausted(std::int64_t latest, std::int64_t patience) const { return patience > 0 && latest - step >= patience; }
    /// Gives the model the weights of the best report again.
    void restore(::torch::nn::Module& model) const {
        const ::torch::NoGradGuard no_gradients;
        const std::vector<::torch::Tensor> tensors = changing_tensors(model);
        for (std::size_t i = 0; i < weights.size(); ++i) tensors.at(i).copy_(weights[i]);
    }
};

}  // namespace hpo::torch
