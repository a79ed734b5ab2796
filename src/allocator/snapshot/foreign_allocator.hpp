// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "hpo/allocator/settings.hpp"
#include "hpo/allocator/snapshot/snapshot.hpp"

namespace hpo::allocator {

/// True if a snapshot is not from PyTorch's allocator for CUDA, but from the copy of it for Ascend NPUs. That one adds 32 bytes to each
/// request before it rounds, which the sizes of small blocks show: each is as large as with the 32 bytes, and two requests of different
/// sizes would be smaller without. With recorded divisions between powers of two, sizes show nothing. Nothing is claimed of such a
/// snapshot.
[[nodiscard]] inline bool is_from_npu(const Snapshot& snapshot) {
    if (snapshot.settings && snapshot.settings->find("roundup_power2_divisions") != std::string::npos) return false;
    std::set<std::int64_t> padded;
    for (const Segment& segment : snapshot.segments) {
        if (!segment.small) continue;
        for (const Block& block : segment.blocks) {
            if (block.state == Block::State::cached || block.requested_bytes == block.bytes) continue;
            const auto rounded = [](std::int64_t bytes) {
                return (bytes + smallest_block_bytes - 1) / smallest_block_bytes * smallest_block_bytes;
            };
            if (block.bytes != rounded(block.requested_bytes + 32)) return false;
            if (block.bytes != rounded(block.requested_bytes)) padded.insert(block.requested_bytes);
        }
    }
    return padded.size() > 1;
}

}  // namespace hpo::allocator
