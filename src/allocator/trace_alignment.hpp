// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "hpo/allocator/allocation_trace.hpp"

namespace hpo::allocator {

/// For each block of a trace, whether it may be what a reduction stages: a buffer and then a smaller block of counters, taken right after
/// another block, and given back at once (reduction_staging.hpp).
[[nodiscard]] std::vector<bool> staged_blocks(const AllocationTrace& trace);

/// For each block of one trace the block of the other that does the same work, or nullopt. The traces are of the same program with other
/// sizes, so most blocks have a partner, in the same order. Kernels choose their algorithm by size, so each trace may have blocks that the
/// other does not have.
///
/// Partners are of the same scope. Among all pairings in order, that one is taken which has most partners of an equal lifetime, counted in
/// blocks, and of a size ratio that is in `ratios`: those by which sizes can differ between the two (the values of SizeTerms).
///
/// Staged blocks are left out of this. They are partners if the blocks before them are.
///
/// O(blocks * band) time and memory, where the band is 512 blocks and the difference of their counts. Throws Error if that is above 256
/// MiB.
[[nodiscard]] std::vector<std::optional<std::size_t>> aligned_blocks(const AllocationTrace& one, const AllocationTrace& other,
                                                                     std::vector<double> ratios);

}  // namespace hpo::allocator
