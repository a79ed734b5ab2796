// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hpo/torch/task.hpp"

namespace hpo::libtorch {

/// Checks the rules of Task::augmented_batch, beyond the number of examples, with a few examples of the first epoch under a few seeds.
/// Later epochs are not checked: a training may have fewer, and sizes may follow a schedule.
class AugmentationProblem {
public:
    AugmentationProblem(const Task& task, torch::Device device) : task_{task}, device_{device} {}

    /// The first broken rule. Empty if no broken rule was seen.
    [[nodiscard]] std::string find(std::span<const std::int64_t> examples) const;

private:
    [[nodiscard]] Batch batch_of(std::span<const std::int64_t> examples, std::uint64_t seed) const;

    [[nodiscard]] static std::vector<torch::Tensor> tensors(const Batch& batch);
    /// True if both are equal. NaN equals NaN here.
    [[nodiscard]] static bool same(const Batch& some, const Batch& others);
    [[nodiscard]] static std::string other_sizes(const Batch& first, const Batch& other);
    /// Whether the last example of both batches is the same. Tensors of different sizes (padded ones) are skipped, and rounding is allowed.
    [[nodiscard]] static bool same_last(const Batch& batch, const Batch& alone);

    const Task& task_;
    torch::Device device_;
};

}  // namespace hpo::libtorch
