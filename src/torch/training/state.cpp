// SPDX-License-Identifier: MIT
#include "hpo/torch/training/state.hpp"

#include <torch/torch.h>
#include <cstddef>
#include <vector>

#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/recording/value_reads.hpp"
#include "torch/adaptation/model_parts.hpp"

namespace hpo::libtorch {

std::vector<torch::Tensor> changing_tensors(const torch::nn::Module& model) {
    std::vector<torch::Tensor> tensors;
    for (const auto& [name, parameter] : distinct_parameters(model)) {
        if (parameter.requires_grad()) tensors.push_back(parameter.detach());
    }
    for (const torch::Tensor& buffer : model.buffers()) tensors.push_back(buffer);
    return tensors;
}

void BestReport::see(const BestReport& candidate, Direction direction, const torch::nn::Module& model) {
    const bool better = direction == Direction::maximize ? candidate.value > value : candidate.value < value;
    if (step > 0 && !better) return;
    const Unmetered outside;
    const HarmlessReads of_weights;
    *this = candidate;
    for (const torch::Tensor& tensor : changing_tensors(model))
        weights.push_back(tensor.to(torch::kCPU, /*non_blocking=*/false, /*copy=*/true));
}

void BestReport::restore(torch::nn::Module& model) const {
    const torch::NoGradGuard no_gradients;
    const std::vector<torch::Tensor> tensors = changing_tensors(model);
    for (std::size_t i = 0; i < weights.size(); ++i) tensors.at(i).copy_(weights[i]);
}

}  // namespace hpo::libtorch
