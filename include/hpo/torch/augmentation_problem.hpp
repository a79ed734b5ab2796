// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hpo/torch/task.hpp"

namespace hpo::torch {

/// What Task::augmented_batch promises beyond the number of examples, held against a few examples of the first epoch under a few seeds.
/// Later epochs are not asked for: a training may have fewer, and sizes may follow a schedule.
class AugmentationProblem {
public:
    AugmentationProblem(const Task& task, ::torch::Device device) : task_{task}, device_{device} {}

    /// The first broken promise; empty: none was seen.
    [[nodiscard]] std::string find(std::span<const std::int64_t> examples) const;

private:
    [[nodiscard]] Batch batch_of(std::span<const std::int64_t> examples, std::uint64_t seed) const;

    [[nodiscard]] static std::vector<::torch::Tensor> tensors(const Batch& batch);
    /// Equal, where what is no number equals what is none.
    [[nodiscard]] static bool same(const Batch& some, const Batch& others);
    [[nodiscard]] static std::string other_sizes(const Batch& first, const Batch& other);
    /// Whether a batch's last example is that of another batch. Tensors of other sizes, as padded ones, say nothing, and rounding is let
    /// pass.
    [[nodiscard]] static bool same_last(const Batch& batch, const Batch& alone);

    const Task& task_;
    ::torch::Device device_;
};

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/augmentation_problem_inl.hpp"
#endif
