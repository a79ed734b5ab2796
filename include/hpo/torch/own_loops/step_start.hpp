// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <utility>
#include <vector>

namespace hpo::libtorch {

/// What the passes of a training step change besides gradients, as it was at the step's beginning: the state of LibTorch's generators of
/// the CPU and of the device, and the numbers in the model's buffers, such as the running mean of a batch norm. The copies of the buffers
/// lie on their device.
///
/// Thread safety: one thread.
class StepStart {
public:
    StepStart(const torch::nn::Module& model, torch::Device device);
    /// Puts everything back.
    void restore() const;

private:
    struct Draws {
        torch::Generator generator;
        torch::Tensor state;
    };
    struct Kept {
        torch::Tensor buffer;
        torch::Tensor copy;
    };
    void keep(torch::Device device);

    std::vector<Draws> draws_;
    std::vector<Kept> buffers_;
};

}  // namespace hpo::libtorch
