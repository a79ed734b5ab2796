// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "hpo/torch/meta/card.hpp"

/// What CUDA's reductions take beside their results. If few results come of many numbers, several blocks of threads share one result. Each
/// thread then leaves its part in a buffer of global memory, and a counter for each result tells which block is the last.
///
/// The rules are those of LibTorch's setReduceConfig (aten/src/ATen/native/cuda/Reduce.cuh). They depend on the shape, the strides and the
/// card, and on no number.
namespace hpo::libtorch::inline meta {

/// A reduction as its kernel sees it. Dimensions that lie together are one. The fastest is the first, and those that vanish come before all
/// others. Strides are in numbers, not in bytes.
struct Reduction {
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> input_strides;
    std::size_t vanishing = 0;        ///< so many dimensions in front have no place in the result
    std::int64_t first = 0;           ///< where the input begins in its block
    std::int64_t input_bytes = 4;     ///< of a number
    std::int64_t partial_bytes = 4;   ///< of a partial result
    std::int64_t values_at_once = 4;  ///< that a thread loads of a row

    /// Of a tensor over some of its dimensions, over all if there are none.
    [[nodiscard]] static Reduction of(const torch::Tensor& input, std::vector<std::int64_t> dimensions);
};

/// The bytes of the buffer and of the counters. 0 if a block of threads has its result for itself.
struct Staging {
    std::int64_t buffer = 0;
    std::int64_t counters = 0;
};

[[nodiscard]] Staging staging_of(const Reduction& reduction, const Card& card);

}  // namespace hpo::libtorch::meta

#ifndef HPO_COMPILED
#include "hpo/torch/meta/impl/staging_inl.hpp"
#endif
