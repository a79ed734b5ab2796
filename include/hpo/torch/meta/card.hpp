// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "hpo/allocator/compute_capability.hpp"

namespace hpo::libtorch::inline meta {

/// The facts of a GPU on which its kernels' own memory depends. Unless told otherwise, an A100.
struct Card {
    allocator::ComputeCapability capability{8, 0};
    std::int64_t multiprocessors = 108;
    std::int64_t cublas_workspace_bytes = 0;  ///< of each thread, from the allocator; 0: cuBLAS has its own

    /// The most threads that live in a multiprocessor at a time, by CUDA's table of compute capabilities.
    [[nodiscard]] std::int64_t threads_of_multiprocessor() const {
        if (capability == allocator::ComputeCapability{7, 5}) return 1024;
        const bool fewer = (capability.major == 8 && capability.minor > 0) || capability.major == 12;
        return fewer ? 1536 : 2048;
    }
};

}  // namespace hpo::libtorch::meta
