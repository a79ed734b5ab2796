// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "hpo/allocator/compute_capability.hpp"
#include "hpo/allocator/reduction_staging.hpp"

namespace hpo::libtorch {

/// The facts of a GPU on which its kernels' own memory depends. Unless told otherwise, an A100.
struct Card {
    allocator::ComputeCapability capability{8, 0};
    std::int64_t multiprocessors = 108;
    std::int64_t cublas_workspace_bytes = 0;  ///< of each thread, from the allocator; 0: cuBLAS has its own

    [[nodiscard]] allocator::CardThreads threads() const { return allocator::CardThreads::of(capability, multiprocessors); }
};

}  // namespace hpo::libtorch
