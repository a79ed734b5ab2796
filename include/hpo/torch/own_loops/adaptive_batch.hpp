// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>
#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/failure.hpp"
#include "hpo/torch/own_loops/clean_up.hpp"

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

/// A smaller micro-batch after an out-of-memory.
struct MicroBatchChange {
    std::int64_t from = 1;
    std::int64_t to = 1;
    std::int64_t step = 1;  ///< of the training's steps, from 1; it is done again from its beginning
    Failure failure;
    CleanUp clean_up;  ///< done already
};

struct AdaptiveBatchOptions {
    torch::Device device{torch::kCPU};
    std::int64_t micro_batch = 1;                            ///< examples in one pass, at the beginning
    std::int64_t least = 1;                                  ///< never fewer, unless a step has fewer
    std::string configuration{};                             ///< the program's parameters in words, for messages
    std::function<void()> before_update{};                   ///< called with the step's gradients in place, for example to clip them
    std::function<void(const MicroBatchChange&)> changed{};  ///< called after each change of the micro-batch
};

/// Training steps whose micro-batch halves whenever memory runs out. The effective batch stays: gradients are accumulated over the
/// micro-batches. A step that ran out of memory begins again without gradients, with the random numbers and buffers of its beginning. So
/// every update is made once, and equals, on the CPU to the last bit, that of a training which had this micro-batch from that step on.
///
/// Restored are LibTorch's generators of the CPU and of the device, and what the model's buffers held. A loss that keeps state of its own,
/// or draws from other generators, must not.
///
/// Thread safety: one thread. The model and the optimizer must live longer.
class AdaptiveBatch {
public:
    /// Throws Error unless 1 <= least <= micro_batch.
    AdaptiveBatch(torch::nn::Module& model, torch::optim::Optimizer& optimizer, AdaptiveBatchOptions options);

    /// One step of the optimizer over these examples, the effective batch. `loss_sum(part)` is called for one micro-batch after the other
    /// and returns the sum of its examples' losses, one number with a gradient. Gradients that were there before are dropped. Returns the
    /// mean loss.
    ///
    /// Throws NonFiniteLoss before the update. An out-of-memory is passed on if the micro-batch is as small as allowed. One in the update
    /// itself is also passed on: some parameters may then be updated and others not, so go back to a checkpoint. One while the buffers are
    /// copied, before the first pass, changes nothing. After any exception no gradient is left, and buffers and
    /// random numbers may be those of the middle of the step.
    template <class LossSum>
    double step(std::span<const std::int64_t> examples, const LossSum& loss_sum) {
        begin_step(examples.size());
        const StepStart start{model_, options_.device};
        double loss = 0;
        while (true) {
            std::exception_ptr error;
            try {
                loss = accumulate(examples, loss_sum);
            } catch (...) {
                error = std::current_exception();
            }
            if (!error) break;
            shrink(error, static_cast<std::int64_t>(examples.size()));
            start.restore();
        }
        update();
        return loss;
    }

    /// Examples in one pass, from now on.
    [[nodiscard]] std::int64_t micro_batch() const { return micro_batch_; }
    /// The updates so far.
    [[nodiscard]] std::int64_t steps() const { return steps_; }

private:
    template <class LossSum>
    double accumulate(std::span<const std::int64_t> examples, const LossSum& loss_sum) {
        double loss = 0;
        const auto micro = static_cast<std::size_t>(micro_batch_);
        for (std::size_t at = 0; at < examples.size(); at += micro)
            loss += backward(loss_sum(examples.subspan(at, std::min(micro, examples.size() - at))), examples.size());
        return loss;
    }

    void begin_step(std::size_t examples);
    /// Adds the gradients of a micro-batch and returns its share of the mean loss.
    double backward(torch::Tensor loss_sum, std::size_t examples);
    /// Halves the micro-batch, or rethrows the error.
    void shrink(const std::exception_ptr& error, std::int64_t examples);
    void update();
    void drop_gradients();

    torch::nn::Module& model_;
    torch::optim::Optimizer& optimizer_;
    AdaptiveBatchOptions options_;
    std::int64_t micro_batch_;
    std::int64_t steps_ = 0;
};

}  // namespace hpo::libtorch
