// SPDX-License-Identifier: MIT
#include "hpo/torch/own_loops/step_start.hpp"

#include <ATen/Context.h>
#include <torch/torch.h>
#include <mutex>

#include "hpo/torch/metered_allocator.hpp"

namespace hpo::libtorch {

StepStart::StepStart(const torch::nn::Module& model, torch::Device device) {
    keep(torch::kCPU);
    if (!device.is_cpu()) keep(device);
    const torch::NoGradGuard no_gradients;
    for (const torch::Tensor& buffer : model.buffers()) {
        if (buffer.defined()) buffers_.push_back({buffer, buffer.clone()});
    }
}

void StepStart::keep(torch::Device device) {
    const Unmetered outside;  // a few kilobytes of host memory
    torch::Generator generator = at::globalContext().defaultGenerator(device);
    const std::lock_guard lock{generator.mutex()};
    torch::Tensor state = generator.get_state();
    draws_.push_back({std::move(generator), std::move(state)});
}

void StepStart::restore() const {
    for (const Draws& draws : draws_) {
        torch::Generator generator = draws.generator;
        const std::lock_guard lock{generator.mutex()};
        generator.set_state(draws.state);
    }
    const torch::NoGradGuard no_gradients;
    for (const Kept& kept : buffers_) {
        torch::Tensor buffer = kept.buffer;
        buffer.copy_(kept.copy);
    }
}

}  // namespace hpo::libtorch
