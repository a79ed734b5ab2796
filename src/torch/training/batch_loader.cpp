// SPDX-License-Identifier: MIT
#include "hpo/torch/training/batch_loader.hpp"

#include <torch/torch.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "hpo/base/error.hpp"
#include "hpo/torch/metered_allocator.hpp"

namespace hpo::libtorch {

BatchLoader::BatchLoader(const Task& task, LoadPlan plan, torch::Device device)
    : task_{task},
      plan_{std::move(plan)},
      device_{device},
      rules_{task.batch_rules()},
      epoch_{"epoch " + std::to_string(plan_.epoch.number)} {
    const std::span order{plan_.order};
    const auto step = static_cast<std::size_t>(std::max<std::int64_t>(1, plan_.effective_batch));
    const auto micro = static_cast<std::size_t>(std::max<std::int64_t>(1, plan_.micro_batch));
    for (std::size_t start = 0; start < order.size(); start += step) {
        const std::span chosen = order.subspan(start, std::min(step, order.size() - start));
        for (std::size_t at = 0; at < chosen.size(); at += micro)
            batches_.push_back(chosen.subspan(at, std::min(micro, chosen.size() - at)));
    }
    const auto workers = std::min(static_cast<std::size_t>(std::max<std::int64_t>(0, plan_.workers)), batches_.size());
    ahead_ = 2 * workers;
    try {
        for (std::size_t i = 0; i < workers; ++i) workers_.emplace_back([this] { work(); });
    } catch (...) {
        stop();
        throw;
    }
}

BatchPlace BatchLoader::place(std::size_t index) const {
    const std::span<const std::int64_t> examples = batches_.at(index);
    const auto begin = examples.data() - plan_.order.data();  // both lie in the order
    const std::int64_t step = std::max<std::int64_t>(1, plan_.effective_batch);
    return {.number = plan_.first_step + begin / step + 1, .of = epoch_, .first_row = begin % step, .examples = examples};
}

Batch BatchLoader::next() {
    if (taken_ == batches_.size())
        throw Error{Errc::plugin, "a batch is asked for after the last of the epoch's " + std::to_string(batches_.size())};
    const std::size_t index = taken_;
    Batch batch = take();
    shapes_.check(batch, rules_.same_shapes, place(index));
    return batch;
}

Batch BatchLoader::take() {
    if (workers_.empty()) return make(taken_++, device_);
    Made made;
    {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [&] { return made_.contains(taken_); });
        made = std::move(made_.extract(taken_).mapped());
        ++taken_;
    }
    changed_.notify_all();
    if (made.error) std::rethrow_exception(made.error);
    return onto_device(std::move(made.batch));
}

Batch BatchLoader::again(std::size_t index) const {
    if (workers_.empty()) return make(index, device_);
    return onto_device([&] {
        const Unmetered outside;
        return make(index, torch::kCPU);
    }());
}

Batch BatchLoader::make(std::size_t index, torch::Device device) const {
    const std::span asked = batches_.at(index);
    Batch batch = task_.augmented_batch(asked, device, plan_.epoch);
    check_count(batch, asked.size());
    check_batch(batch, rules_, place(index));
    return batch;
}

Batch BatchLoader::onto_device(Batch batch) const {
    const auto move = [&](torch::Tensor& tensor) {
        if (tensor.defined()) tensor = tensor.to(device_, /*non_blocking=*/false, /*copy=*/true);
    };
    for (torch::Tensor& input : batch.inputs) move(input);
    move(batch.targets);
    return batch;
}

void BatchLoader::work() {
    const Unmetered outside;
    std::unique_lock lock{mutex_};
    while (true) {
        changed_.wait(lock, [&] { return stopping_ || begun_ == batches_.size() || begun_ < taken_ + ahead_; });
        if (stopping_ || begun_ == batches_.size()) return;
        const std::size_t mine = begun_++;
        lock.unlock();
        Made made;
        try {
            made.batch = make(mine, torch::kCPU);
        } catch (...) {
            made.error = std::current_exception();
        }
        lock.lock();
        made_.emplace(mine, std::move(made));
        changed_.notify_all();
    }
}

void BatchLoader::stop() {
    {
        const std::lock_guard lock{mutex_};
        stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& worker : workers_) worker.join();
}

}  // namespace hpo::libtorch
