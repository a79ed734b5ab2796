// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hpo/allocator/compute_capability.hpp"

/// What CUDA's reductions take beside their results. If few results come of many numbers, several blocks of threads share one result. Each
/// thread then leaves its part in a buffer of global memory, and a counter for each result tells which block is the last.
///
/// The rules are those of LibTorch's setReduceConfig (aten/src/ATen/native/cuda/Reduce.cuh). They depend on the shape, the strides and the
/// card, and on no number.
namespace hpo::allocator {

/// The threads of a card.
struct CardThreads {
    std::int64_t multiprocessors = 108;
    std::int64_t threads_of_multiprocessor = 2048;  ///< the most that live in one at a time, by CUDA's table of compute capabilities

    [[nodiscard]] static CardThreads of(ComputeCapability capability, std::int64_t multiprocessors) {
        if (capability == ComputeCapability{7, 5}) return {multiprocessors, 1024};
        const bool fewer = (capability.major == 8 && capability.minor > 0) || capability.major == 12;
        return {multiprocessors, fewer ? 1536 : 2048};
    }
};

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

    /// The sums of the columns of a matrix whose rows lie one after the other.
    [[nodiscard]] static Reduction of_columns(std::int64_t rows, std::int64_t columns) {
        if (columns == 1) return {.sizes = {rows}, .input_strides = {1}, .vanishing = 1};
        return {.sizes = {rows, columns}, .input_strides = {columns, 1}, .vanishing = 1};
    }
};

/// The bytes of the buffer and of the counters. 0 if a block of threads has its result for itself.
struct Staging {
    std::int64_t buffer = 0;
    std::int64_t counters = 0;
    friend bool operator==(const Staging&, const Staging&) = default;
};

[[nodiscard]] Staging staging_of(const Reduction& reduction, const CardThreads& card);

}  // namespace hpo::allocator
