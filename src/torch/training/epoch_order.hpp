// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "hpo/core/seed.hpp"
#include "hpo/torch/task.hpp"

namespace hpo::libtorch {

/// All examples, shuffled. The order is the same for every micro-batch, platform and LibTorch.
[[nodiscard]] inline std::vector<std::int64_t> shuffled(std::int64_t examples, Seed seed) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(examples));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    Rng rng = seed.rng();
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
    return order;
}

/// An epoch of a training.
struct NumberedEpoch {
    std::int64_t number = 1;  ///< the first is 1
    std::int64_t effective_batch = 1;
};

/// The order in which an epoch visits the task's examples.
[[nodiscard]] inline std::vector<std::int64_t> epoch_order(const Task& task, const NumberedEpoch& epoch, Seed seed) {
    const Seed own = seed.derive("order").derive(static_cast<std::uint64_t>(epoch.number));
    std::vector<std::int64_t> order = shuffled(task.training_examples(), own);
    task.arrange(order, {.effective_batch = epoch.effective_batch, .seed = own});
    return order;
}

}  // namespace hpo::libtorch
