// SPDX-License-Identifier: MIT
#include "hpo/torch/own_loops/adaptive_batch.hpp"

#include <ATen/Context.h>
#include <torch/torch.h>
#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <utility>

#include "hpo/base/error.hpp"
#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/own_loops/retry_on_oom.hpp"
#include "hpo/torch/training/batch_checks.hpp"

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

AdaptiveBatch::AdaptiveBatch(torch::nn::Module& model, torch::optim::Optimizer& optimizer, AdaptiveBatchOptions options)
    : model_{model}, optimizer_{optimizer}, options_{std::move(options)}, micro_batch_{options_.micro_batch} {
    if (options_.least < 1) throw bad_value("AdaptiveBatch: least", std::to_string(options_.least), "1 or more");
    if (options_.micro_batch < options_.least) {
        throw bad_value("AdaptiveBatch: micro_batch", std::to_string(options_.micro_batch),
                        std::to_string(options_.least) + " or more, as least says");
    }
}

void AdaptiveBatch::begin_step(std::size_t examples) {
    if (examples == 0) throw bad_value("AdaptiveBatch: step", "no examples", "1 or more");
    drop_gradients();
    detail::begin_try(options_.device);
}

double AdaptiveBatch::backward(torch::Tensor loss_sum, std::size_t examples) {
    if (!loss_sum.defined() || loss_sum.numel() != 1 || !loss_sum.requires_grad()) {
        throw bad_value("AdaptiveBatch: the loss",
                        loss_sum.defined() ? "shape " + shape_text(loss_sum) + (loss_sum.requires_grad() ? "" : " and no gradient")
                                           : std::string{"no tensor"},
                        "one number with a gradient, the sum of the examples' losses");
    }
    const torch::Tensor loss = loss_sum / static_cast<double>(examples);
    loss_sum.reset();
    const auto value = loss.item<double>();
    try {
        check_loss(value, "in training, at step " + std::to_string(steps_ + 1));
    } catch (const NonFiniteLoss& error) {
        throw NonFiniteLoss{with_configuration(error.what(), options_.configuration)};
    }
    loss.backward();
    return value;
}

void AdaptiveBatch::shrink(const std::exception_ptr& error, std::int64_t examples) {
    drop_gradients();
    MicroBatchChange change{.from = std::min(micro_batch_, examples), .failure = detail::failure_of(error, options_.configuration)};
    if (!detail::ran_out_of_memory(change.failure)) std::rethrow_exception(error);
    change.to = std::max(change.from / 2, options_.least);
    change.step = steps_ + 1;
    change.clean_up = clean_up(options_.device);
    if (change.to >= change.from) std::rethrow_exception(error);
    micro_batch_ = change.to;
    detail::begin_try(options_.device);
    if (options_.changed) options_.changed(change);
}

void AdaptiveBatch::update() {
    try {
        if (options_.before_update) options_.before_update();
        optimizer_.step();
    } catch (...) {
        drop_gradients();
        throw;
    }
    drop_gradients();
    ++steps_;
}

void AdaptiveBatch::drop_gradients() {
    model_.zero_grad(/*set_to_none=*/true);
    for (auto& group : optimizer_.param_groups()) {
        for (torch::Tensor& parameter : group.params()) parameter.mutable_grad().reset();
    }
}

}  // namespace hpo::libtorch
