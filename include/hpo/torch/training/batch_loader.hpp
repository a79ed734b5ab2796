// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "hpo/torch/task.hpp"
#include "hpo/torch/training/batch_checks.hpp"
#include "hpo/torch/training/batch_rules.hpp"

namespace hpo::libtorch {

/// Which examples an epoch's batches hold.
struct LoadPlan {
    std::vector<std::int64_t> order;  ///< all of the epoch's examples
    Epoch epoch{};
    std::int64_t effective_batch = 1;
    std::int64_t micro_batch = 1;
    std::int64_t first_step = 0;  ///< the epoch's steps before these, for messages
    std::int64_t workers = 0;     ///< threads that prepare batches ahead; if 0, next() makes them
};

/// Gives an epoch's micro-batches in order. The last of a step may be short. Workers make them ahead of time, at most two for each worker,
/// in host memory outside the meter. The batches and the device memory that they take are the same for any number of workers.
///
/// Thread safety: next(), position() and again() in one thread. The destructor waits for the batches that are being made, and no more are
/// begun.
class BatchLoader {
public:
    BatchLoader(const Task& task, LoadPlan plan, torch::Device device);
    ~BatchLoader() { stop(); }
    BatchLoader(const BatchLoader&) = delete;
    BatchLoader& operator=(const BatchLoader&) = delete;

    /// The next batch, on the device. Rethrows what making the batch threw. Throws BadBatch if the batch breaks the task's rules or has
    /// another number of examples than was asked for, and Error after the last batch. What workers make is checked before the device
    /// sees it.
    [[nodiscard]] Batch next();
    /// The number of batches that next() has returned.
    [[nodiscard]] std::size_t position() const { return taken_; }
    /// Makes the batch of this index once more, in this thread. next() must have returned it before.
    [[nodiscard]] Batch again(std::size_t index) const;
    /// Where a micro-batch stands: its step is the batch, and its first example is a row of that. Valid while the loader lives.
    [[nodiscard]] BatchPlace place(std::size_t index) const;

private:
    struct Made {
        Batch batch;
        std::exception_ptr error;
    };

    [[nodiscard]] Batch take();
    [[nodiscard]] Batch make(std::size_t index, torch::Device device) const;
    [[nodiscard]] Batch onto_device(Batch batch) const;

    void work();
    void stop();

    const Task& task_;
    LoadPlan plan_;
    torch::Device device_;
    BatchRules rules_;
    std::string epoch_;  ///< in words
    std::vector<std::span<const std::int64_t>> batches_;
    FirstShapes shapes_;
    std::size_t ahead_ = 0;
    std::mutex mutex_;  ///< guards the members below, except the threads themselves
    std::condition_variable changed_;
    std::size_t begun_ = 0;
    std::size_t taken_ = 0;
    std::map<std::size_t, Made> made_;
    bool stopping_ = false;
    std::vector<std::thread> workers_;
};

}  // namespace hpo::libtorch
